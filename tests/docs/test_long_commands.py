"""Pages whose commands take minutes or hours: followed in an empty folder, with smaller numbers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from followed_pages import Followed
from page_blocks import blocks_on
from page_shell import Shell

from barnabas.testing import Broker

SMALLER = {
    "docs/crash-testing.md": {"testing.crash --jobs 2": "testing.crash --jobs 2 --sample 4"},
    "docs/testing.md": {
        "simulation --seeds 100 --seed 1": "simulation --seeds 2 --seed 1",
        "simulation --seeds 20 --broken forgets-producers": "simulation --seeds 3 --broken acks-before-appending",
        "--workload transactional --minutes 2": "--workload transactional --minutes 0.05 --directory runs",
        "/tmp/barnabas-checker-s2vq1vgi": "runs",
        "--workload all --minutes 5 --bootstrap kafka-1:9092,kafka-2:9092": (
            "--workload plain --minutes 0.03 --bootstrap $SERVER"
        ),
    },
}
"""By page: what stands on it, and what is run instead."""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with Broker() as broker:
        shell = Shell(tmp_path, {"SERVER": broker.bootstrap_servers})
        yield shell
        shell.close()


@pytest.mark.crash
@pytest.mark.parametrize("page", SMALLER)
def test_commands_run_with_smaller_numbers(page: str, shell: Shell, followed: Followed) -> None:
    shell.follow(block.with_other_text(SMALLER[page]) for block in followed(page))


@pytest.mark.parametrize("page", SMALLER)
def test_what_is_replaced_is_on_the_page(page: str) -> None:
    text = "".join(block.text for block in blocks_on(page))
    assert [each for each in SMALLER[page] if each not in text] == []
