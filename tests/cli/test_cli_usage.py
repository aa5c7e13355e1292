"""What is typed wrongly is explained in one style, whatever the command; and what stands before the command counts."""

import subprocess
import sys

import pytest
from cli_running import Run

from barnabas.cli.commands import COMMANDS
from barnabas.cli.kafka.scripts import SCRIPTS
from barnabas.cli.main import was_interrupted


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["produc"], "there is no command produc", "did you mean produce?"),
        (["kafka-topic"], "there is no command kafka-topic", "did you mean kafka-topics?"),
        (["xyzzy"], "there is no command xyzzy", "see barnabas --help for all commands"),
        (["--verison"], "barnabas has no option --verison", "did you mean --version?"),
        (["-b"], "-b needs a value", "write barnabas -b VALUE COMMAND"),
        (["topic", "creat", "x"], "barnabas topic has no command creat", "did you mean create?"),
        (["topic", "--all"], "barnabas topic has no option --all", "see barnabas topic --help"),
        (
            ["topic", "create", "x", "--partition", "3"],
            "create has no option --partition",
            "did you mean --partitions?",
        ),
        (["topic", "create", "x", "-p", "three"], "--partitions must be a whole number, not 'three'", "create --help"),
        (["topic", "create", "x", "-p", "1.5"], "--partitions must be a whole number, not '1.5'", "create --help"),
        (["topic", "create", "x", "-p", "0"], "--partitions must be at least 1, not 0", "see barnabas topic create"),
        (["topic", "alter", "x", "-p", "-3"], "--partitions must be at least 1, not -3", "see barnabas topic alter"),
        (["topic", "create", "x", "-p"], "-p needs a value", "see barnabas topic create --help"),
        (
            ["topic", "create", "x", "--if-not-exists=yes"],
            "--if-not-exists takes no value",
            "see barnabas topic create",
        ),
        (["topic", "list", "a", "b"], "barnabas topic list does not take 'a b'", "see barnabas topic list --help"),
        (["topic", "list", "--format", "xml"], "--format cannot be 'xml'", "choose one of table, json"),
        (["produce"], "TOPIC is missing", "see barnabas produce --help"),
        (["produce", "x", "--acks", "2"], "--acks cannot be '2'", "choose one of 0, 1, all"),
        (["archive", "run", "--topic", "x"], "--to is missing", "see barnabas archive run --help"),
        (["completion", "tcsh"], "SHELL cannot be 'tcsh'", "choose one of bash, zsh, fish"),
        (["pipeline", "dead-letters", "-n", "0"], "--limit must be at least 1, not 0", "see barnabas pipeline dead"),
        (["serve", "--lisen", "x:1"], "barnabas serve does not take --lisen", "did you mean --listen?"),
    ],
)
def test_a_mistake_is_two_lines(barnabas: Run, arguments: list[str], error: str, hint: str) -> None:
    failed = barnabas(*arguments)
    assert failed.status == 2
    assert failed.out == ""
    first, second = failed.err.splitlines()
    assert first.startswith("error: ")
    assert first.endswith(error)
    assert second.startswith("hint: ")
    assert hint in second


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["consume", "x", "--timeout", "soon"], "--timeout: `soon` is not a duration"),
        (["produce", "x", "--timeout", "-5"], "--timeout: `-5` is not a duration"),
        (["txn", "list", "--longer-than", "90"], "--longer-than: `90` has no unit"),
        (["topic", "create", "x", "-c", "retention.ms=soon"], "retention.ms: `soon` is not a duration"),
        (["topic", "create", "x", "-c", "segment.bytes=1G"], "segment.bytes: `G` is not a unit of size"),
        (["topic", "create", "x", "-c", "retention.ms"], "--config needs KEY=VALUE, not 'retention.ms'"),
        (["serve", "--set", "log.roll.hours=90min"], "log.roll.hours: 90min is not a whole number of hours"),
    ],
)
def test_a_value_that_cannot_be_read_is_named(barnabas: Run, arguments: list[str], error: str) -> None:
    failed = barnabas(*arguments)
    assert failed.status == 1
    first, second = failed.err.splitlines()
    assert first == f"error: {error}"
    assert second.startswith("hint: ")


def test_the_overview_has_every_command_and_the_scripts_in_a_section_of_their_own(barnabas: Run) -> None:
    page = barnabas("--help").good()
    own, _, scripts = page.partition("\nKafka's scripts")
    assert all(f"\n  {name} " in own for name in COMMANDS if name not in SCRIPTS)
    assert all(f"\n  {name} " in scripts for name in SCRIPTS)
    assert "kafka-" not in own
    assert barnabas("-h").out == barnabas("help").out == page
    assert barnabas() == (2, "", page)


def test_help_is_found_in_every_way(barnabas: Run) -> None:
    page = barnabas("topic", "create", "--help").good()
    assert "--if-not-exists" in page
    assert "<int>" not in page
    assert barnabas("help", "topic", "create").good() == page
    assert "Usage: barnabas kafka-topics" in barnabas("help", "kafka-topics.sh").good().replace("usage", "Usage")
    group = barnabas("topic")
    assert (group.status, group.out) == (2, "")
    assert group.err.strip() == barnabas("topic", "--help").good().strip()


@pytest.mark.parametrize("arguments", [["version"], ["--version"], ["-V"], ["-b", "x:1", "version"]])
def test_the_version(barnabas: Run, arguments: list[str]) -> None:
    assert barnabas(*arguments).good().startswith("barnabas 0.")


def test_an_interruption_is_known_in_its_disguises() -> None:
    assert was_interrupted(KeyboardInterrupt())
    in_c_code = SystemError("returned a result with an exception set")
    in_c_code.__cause__ = KeyboardInterrupt()
    in_a_lock = RuntimeError("release unlocked lock")
    in_a_lock.__context__ = in_c_code
    assert was_interrupted(in_c_code)
    assert was_interrupted(in_a_lock)
    assert not was_interrupted(RuntimeError("our own"))


def test_values_are_read_without_pydantic() -> None:
    """It would take longer to import than most commands run, and brings words of its own."""
    code = (
        "import sys\nfrom barnabas.cli.main import run\n"
        "assert run(['-b', '127.0.0.1:1', 'topic', 'create', 'x', '-p', '3', '--if-not-exists']) == 1\n"
        "sys.exit('pydantic' in sys.modules or 'rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "cannot reach 127.0.0.1:1" in done.stderr
