"""The commands in the documentation run as written: page by page, from top to bottom, in one shell.

The tutorial runs in `make interop`: it starts Spark for many of its commands.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_shell import ROOT, Shell, blocks_of, run_story

PAGES = ("docs/getting-started.md", "docs/configuration.md", "docs/operations.md", "docs/pipelines.md")
PAGES_WITH_SPARK = ("README.md", "docs/spark-operations.md")
"""Pages whose Python is a program in a file; the block begins with a comment that is the file's name."""
PATIENCE_WITH_SPARK_S = 240.0
"""A JVM and a Python worker start before the first batch, on a machine that may be busy."""

_PROGRAM = re.compile(r"^```python\n# (\S+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    shell.close()


@pytest.mark.clients
@pytest.mark.parametrize("page", PAGES)
def test_commands_run(page: str, shell: Shell) -> None:
    blocks = blocks_of(page)
    assert blocks
    for commands in blocks:
        shell.run_block(commands)


@pytest.mark.spark
@pytest.mark.timeout(3 * PATIENCE_WITH_SPARK_S)
@pytest.mark.parametrize("page", PAGES_WITH_SPARK)
def test_commands_run_with_spark(page: str, shell: Shell) -> None:
    shell.patience_s = PATIENCE_WITH_SPARK_S
    for name, program in _PROGRAM.findall((ROOT / page).read_text()):
        shell.write(name, program)
    for commands in blocks_of(page):
        shell.run_block(commands)


@pytest.mark.spark
@pytest.mark.timeout(3 * PATIENCE_WITH_SPARK_S)
def test_the_history_page(shell: Shell) -> None:
    shell.patience_s = PATIENCE_WITH_SPARK_S
    run_story("docs/history.md", shell)
