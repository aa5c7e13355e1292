"""Every flag of Apache Kafka's scripts is known to ours: it acts, or it is refused with a reason.

The lists beside this file come from the scripts' own help: `tools/list_kafka_flags.py`.
"""

import argparse
from pathlib import Path

import pytest

from barnabas.cli.kafka.refused import REFUSED
from barnabas.cli.kafka.scripts import SCRIPTS, parser_of
from barnabas.cli.main import run

LISTS = {path.stem: path.read_text().split() for path in (Path(__file__).parent / "kafka_flags").glob("*.txt")}
REFUSALS = [(script, flag, reason) for script, flags in REFUSED.items() for flag, reason in flags.items()]


def flags_of(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings}


def test_every_script_is_compared() -> None:
    assert LISTS.keys() == SCRIPTS.keys()
    assert all(len(flags) >= 4 for flags in LISTS.values())


@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_its_flags_are_those_of_the_kafka_script(script: str) -> None:
    ours = flags_of(parser_of(script))
    assert set(LISTS[script]) - ours == set()
    assert ours - set(LISTS[script]) <= {"--version"}, "the two perf tests of Kafka differ in having it"


@pytest.mark.parametrize(("script", "flag", "reason"), REFUSALS)
def test_a_refused_flag_says_why(script: str, flag: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert flag in LISTS[script]
    for arguments in ([flag], [flag, "value"], [f"{flag}=value"]):
        assert run([script, *arguments]) == 1
        said = capsys.readouterr()
        assert f"{flag} is refused: {reason}" in said.err
        assert "hint: " in said.err
        assert said.out == ""


@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_help_version_and_mistakes(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([script, "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(flag in shown for flag in LISTS[script] if flag != "-h")
    assert run([script, "--version"]) == 0
    assert "4.3.1" in capsys.readouterr().out
    assert run([script, "--nonsense", "x"]) == 1
    assert "nonsense is not a recognized option" in capsys.readouterr().err
    assert run([script]) == 1
    assert "hint: see barnabas kafka-" in capsys.readouterr().err


def test_a_value_may_be_negative_and_follow_an_equals_sign() -> None:
    parser = parser_of("kafka-consumer-groups")
    assert parser.read(["--shift-by", "-5"]).shift_by == -5
    assert parser.read(["--shift-by=-5", "--group=a", "--group", "b"]).group == ["a", "b"]
    assert parser_of("kafka-get-offsets").read(["--time", "-2"]).time == "-2"


def test_a_flag_with_one_value_is_given_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kafka-topics", "--list", "--topic", "a", "--topic", "b"]) == 1
    assert "--topic was given more than once" in capsys.readouterr().err


def test_flags_that_take_a_value_or_none() -> None:
    groups = parser_of("kafka-consumer-groups")
    assert groups.read(["--list"]).state is None
    assert groups.read(["--list", "--state"]).state == ""
    assert groups.read(["--list", "--state", "Empty"]).state == "Empty"
    producer = parser_of("kafka-console-producer")
    assert producer.read(["--compression-codec"]).compression_codec == "gzip"
    assert producer.read(["--compression-codec", "zstd"]).compression_codec == "zstd"
    perf = parser_of("kafka-producer-perf-test")
    assert perf.read(["--command-property", "a=1", "b=2", "--topic", "t"]).command_property == ["a=1", "b=2"]
