"""The pages about Spark run as they are written, from the top to the bottom, with one session and one shell.

Python continues where the block before it ended, and prints what the following `text` block shows; a block that begins
with the name of a file is written to that file. Commands must print what the page shows, perhaps with other numbers.
Only ports and the directories of checkpoints differ; the broker is the test's own.
"""

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from followed_pages import Followed
from page_blocks import Block
from page_shell import Shell

from barnabas.spark import class_archive
from barnabas.spark.java import SHORT_LIVED, find_java
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1000)]

HISTORY = "/data/history"


class Page:
    """A reader with a Python prompt and a shell, and a broker that is running already."""

    def __init__(self, broker: Broker, home: Path) -> None:
        self._broker, self._home = broker, home
        self._names: dict[str, object] = {"__name__": "example"}
        self._printed = ""
        environment = {
            "BARNABAS_BOOTSTRAP_SERVER": broker.bootstrap_servers,
            "PYSPARK_PYTHON": sys.executable,
            # The page's own cluster has as little to do as other Sparks in tests.
            "JDK_JAVA_OPTIONS": SHORT_LIVED,
            "SPARK_DAEMON_JAVA_OPTS": class_archive.java_options(find_java()),
        }
        self._shell = Shell(home, environment)

    def follow(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            if block.kind == "text":
                assert self._printed.strip() == block.text.strip()
            elif block.is_of_a_shell or block.names_a_file:
                self._shell.follow([block.with_other_text({HISTORY: f"{self._home}/history"})])
            else:
                printed = io.StringIO()
                with redirect_stdout(printed):
                    exec(self._adapted(block.text), self._names)
                self._printed = printed.getvalue()

    def close(self) -> None:
        self._shell.close()

    def _adapted(self, text: str) -> str:
        text = text.replace("localhost:9092", self._broker.bootstrap_servers)
        text = text.replace('"checkpointLocation", "', f'"checkpointLocation", "{self._home}/')
        return text.replace(HISTORY, f"{self._home}/history")


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with Broker(process=True) as broker:
        running = Page(broker, tmp_path)
        yield running
        running.close()


@pytest.fixture
def settings(spark: "SparkSession") -> Iterator[None]:
    """Restores the settings of the shared session after a page."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    yield
    assert before is not None
    spark.conf.set(name, before)


@pytest.mark.usefixtures("settings")
def test_the_guide(page: Page, followed: Followed) -> None:
    page.follow(followed("docs/spark.md"))


@pytest.mark.usefixtures("settings")
def test_the_page_about_lambda(page: Page, followed: Followed) -> None:
    page.follow(followed("docs/lambda.md"))


@pytest.mark.usefixtures("settings")
def test_the_section_of_the_readme(page: Page, followed: Followed) -> None:
    page.follow(followed("README.md"))


def test_the_page_for_users_of_sparks_connector(page: Page, followed: Followed) -> None:
    page.follow(followed("docs/migrate-from-spark-kafka.md"))
