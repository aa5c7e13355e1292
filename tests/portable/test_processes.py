"""/proc and `ps` tell the same about processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.portable import processes

PROGRAM = "import signal; print('ready', flush=True); signal.pause()"


@pytest.fixture(params=["/proc", "ps"])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "ps":
        monkeypatch.setattr(processes, "PROC", Path("/nonexistent"))
    assert processes.has_proc() == (request.param == "/proc")
    return str(request.param)


@pytest.fixture
def child() -> "Iterator[subprocess.Popen[bytes]]":
    command = [sys.executable, "-c", PROGRAM, "a word"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.usefixtures("source")
def test_a_process_is_found_until_it_ends(child: "subprocess.Popen[bytes]") -> None:
    found = processes.find_process(child.pid)
    assert found is not None
    assert (found.pid, found.session) == (child.pid, child.pid)
    assert found == processes.find_process(child.pid)
    assert found in processes.running_processes()
    assert found.session != os.getsid(0)
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has asked for its status yet
    assert processes.find_process(child.pid) is None
    assert child.pid not in [process.pid for process in processes.running_processes()]
    child.wait()
    assert processes.find_process(child.pid) is None


@pytest.mark.usefixtures("source")
def test_a_process_tells_its_command_and_its_memory(child: "subprocess.Popen[bytes]") -> None:
    command = processes.command_line(child.pid)
    assert command.startswith(sys.executable)
    assert "a word" in command
    assert 1 << 20 < processes.memory_bytes(child.pid) < 1 << 30
    child.kill()
    child.wait()
    assert processes.command_line(child.pid) == ""
    assert processes.memory_bytes(child.pid) == 0
