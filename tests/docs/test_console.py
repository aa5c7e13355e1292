"""The commands in the documentation run as written: page by page, from top to bottom, in one shell.

`followed_pages.py` says which pages run elsewhere: some share a Spark, and some are a part of `make interop`.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from followed_pages import Followed
from page_blocks import Block
from page_shell import Shell

PAGES = ("docs/getting-started.md", "docs/configuration.md", "docs/operations.md", "docs/pipelines.md")
PAGES_WITH_SPARK = ("README.md", "docs/spark-operations.md")
PATIENCE_WITH_SPARK_S = 240.0
"""A JVM and a Python worker start before the first batch, on a machine that may be busy."""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    shell.close()


@pytest.mark.clients
@pytest.mark.parametrize("page", PAGES)
def test_commands_run(page: str, shell: Shell, followed: Followed) -> None:
    shell.follow(followed(page))


@pytest.mark.spark
@pytest.mark.timeout(3 * PATIENCE_WITH_SPARK_S)
@pytest.mark.parametrize("page", PAGES_WITH_SPARK)
def test_commands_run_with_spark(page: str, shell: Shell, followed: Followed) -> None:
    shell.patience_s = PATIENCE_WITH_SPARK_S
    for block in followed(page):
        if block.kind == "yaml":
            check_alerts(block, shell.output_of("curl -s localhost:9404/metrics"))
        else:
            shell.follow([block])


def check_alerts(block: Block, metrics: Iterable[str]) -> None:
    """Each metric in a rule is one that queries have; one without a value now is declared all the same."""
    named = set(re.findall(r"barnabas_\w+", block.text))
    assert named
    assert named <= {line.split()[2] for line in metrics if line.startswith("# TYPE")}


@pytest.mark.spark
@pytest.mark.timeout(3 * PATIENCE_WITH_SPARK_S)
def test_the_history_page(shell: Shell, followed: Followed, tmp_path: Path) -> None:
    shell.patience_s = PATIENCE_WITH_SPARK_S
    for block in followed("docs/history.md"):
        if block.kind == "json":
            manifest = json.loads((tmp_path / "history" / "telemetry" / "_manifest.json").read_text())
            assert shape_of(manifest) == shape_of(json.loads(block.text))
        else:
            shell.follow([block])


def shape_of(value: Any) -> object:
    """The names and types in it; of a list, those of its first element."""
    if isinstance(value, dict):
        return {name: shape_of(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape_of(each) for each in value[:1]]
    return type(value).__name__
