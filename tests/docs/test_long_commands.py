"""Pages whose commands take minutes or hours: followed in an empty folder, with smaller numbers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from page_shell import ROOT, Shell, blocks_of

from barnabas.testing import Broker

SMALLER = {
    "docs/crash-testing.md": {"testing.crash --jobs 2": "testing.crash --jobs 2 --sample 4"},
    "docs/testing.md": {
        "--workload transactional --minutes 2": "--workload transactional --minutes 0.05 --directory runs",
        "/tmp/barnabas-checker-s2vq1vgi": "runs",
        "--workload all --minutes 5 --bootstrap kafka-1:9092,kafka-2:9092": (
            "--workload plain --minutes 0.03 --bootstrap $SERVER"
        ),
    },
}
"""By page: what stands on it, and what is run instead."""

NOT_HERE = {
    "docs/crash-testing.md": {
        "make soak": "takes hours",
        "python -m barnabas.testing.spark_kills --every-step": "tests/spark/exactly_once has one life of it",
        "python -m barnabas.testing.spark_kills --rounds 50 --seed 6": "tests/spark/exactly_once runs it with 3 rounds",
        "python -m barnabas.testing.spark_kills --rounds 10 --at-least-once": "make soak: few rounds may find nothing",
        "python -m demo.kills --rounds 20 --seed 1": ".ci/run has two rounds",
    },
    "docs/testing.md": {
        "python -m barnabas.testing.checker run --workload bank --bootstrap kafka-1:9093": (
            "interop/test_client_security.py runs it with a secured Apache Kafka"
        ),
    },
}
"""By page: how commands begin that are not run here, and why not."""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with Broker() as broker:
        shell = Shell(tmp_path, {"SERVER": broker.bootstrap_servers})
        yield shell
        shell.close()


@pytest.mark.crash
@pytest.mark.parametrize("page", SMALLER)
def test_commands_run_with_smaller_numbers(page: str, shell: Shell) -> None:
    for commands in blocks_of(page, SMALLER[page]):
        shell.run_block([each for each in commands if not each[0].startswith(tuple(NOT_HERE[page]))])


@pytest.mark.parametrize("page", SMALLER)
def test_what_is_replaced_or_left_out_is_on_the_page(page: str) -> None:
    text = (ROOT / page).read_text()
    commands = [command for block in blocks_of(page) for command, _ in block]
    assert [each for each in SMALLER[page] if each not in text] == []
    assert [each for each in NOT_HERE[page] if not any(command.startswith(each) for command in commands)] == []
