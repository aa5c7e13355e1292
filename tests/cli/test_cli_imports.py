"""Heavy modules are imported only when needed, so that `serve` and `--help` start fast."""

import subprocess
import sys

import pytest

FORBIDDEN_TO_ALL = ("rich", "confluent_kafka", "hypothesis")


def _imported_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('MODULES', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.partition("MODULES ")[2].split())


@pytest.mark.parametrize("arguments", [["--help"], ["topic", "--help"], ["version"], ["consume", "--help"]])
def test_help_needs_neither_rich_nor_a_client(arguments: list[str]) -> None:
    found = _imported_by(f"from barnabas.cli.main import run\nassert run({arguments!r}) == 0")
    assert not found & set(FORBIDDEN_TO_ALL)
    assert not any(name.startswith(("barnabas.node", "barnabas.wire")) for name in found)


def test_serve_needs_no_typer_either() -> None:
    found = _imported_by("import barnabas.cli.main, barnabas.cli.serve, barnabas.node.run")
    assert not found & {*FORBIDDEN_TO_ALL, "typer", "click", "pydantic", "aiokafka", "kafka"}


def test_the_pytest_plugin_costs_nothing_until_it_is_used() -> None:
    found = _imported_by("import barnabas.testing.pytest_plugin")
    assert not any(name.startswith(("kio", "barnabas.wire", "barnabas.node", "hypothesis", "uvloop")) for name in found)
