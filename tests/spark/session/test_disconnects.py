"""A Spark worker whose JVM has disconnected shows no stack trace; any other error is shown."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from barnabas.spark.disconnects import DAEMON, SOURCE_RUNNER, silence_disconnects


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    monkeypatch.delenv("BARNABAS_TRACE", raising=False)
    return module


def test_a_source_whose_query_was_stopped(
    main: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main.__spec__ = SimpleNamespace(name=SOURCE_RUNNER)  # type: ignore[assignment]
    silence_disconnects()
    sys.excepthook(BrokenPipeError, BrokenPipeError("gone"), None)
    assert capsys.readouterr().err == ""
    sys.excepthook(ValueError, ValueError("odd"), None)
    assert capsys.readouterr().err == "ValueError: odd\n"
    monkeypatch.setenv("BARNABAS_TRACE", "1")
    sys.excepthook(BrokenPipeError, BrokenPipeError("gone"), None)
    assert "gone" in capsys.readouterr().err


def test_a_process_of_the_daemon(main: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    main.__spec__ = SimpleNamespace(name=DAEMON)  # type: ignore[assignment]
    silence_disconnects()
    for error, shown in ((ConnectionResetError("gone"), False), (ValueError("odd"), True)):
        try:
            raise error
        except (OSError, ValueError):
            main.traceback.print_exc()
        assert ("Traceback" in capsys.readouterr().err) is shown


def test_any_other_program_is_left_alone(main: ModuleType) -> None:
    silence_disconnects()
    assert sys.excepthook is sys.__excepthook__
    assert not hasattr(main, "traceback")
