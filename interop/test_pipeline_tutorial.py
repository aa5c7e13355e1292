"""The tutorial as it is written. `make soak` follows it on Apache Kafka and a cluster, too (`tutorial_on_kafka.py`)."""

from pathlib import Path

import pytest
from page_reader import reader
from page_shell import run_story

pytestmark = pytest.mark.timeout(1800)


def test_the_tutorial(tmp_path: Path) -> None:
    with reader(tmp_path / "reader") as shell:
        run_story("docs/tutorial.md", shell)
