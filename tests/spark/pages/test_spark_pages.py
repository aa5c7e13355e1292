"""The pages about Spark run as they are written, from the top to the bottom, with one session and one shell.

Python continues where the block before it ended, and prints what the following `text` block shows; a block that begins
with the name of a file is written to that file. Commands must print what the page shows, perhaps with other numbers.
Only ports and the directories of checkpoints differ; the broker is the test's own.
"""

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.spark import class_archive
from barnabas.spark.java import SHORT_LIVED, find_java
from barnabas.testing import Broker
from barnabas.testing.ports import pick_free_port

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1000)]

ROOT = Path(__file__).resolve().parents[3]
DONE = "the command has ended with status"

_BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.py)\n")
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_PORT = re.compile(r"(?<=[: ])(?:7077|808\d)\b")


class Page:
    def __init__(self, broker: Broker, home: Path) -> None:
        self._broker, self._home = broker, home
        self._names: dict[str, object] = {"__name__": "example"}
        self._printed = ""
        self._ports: dict[str, int] = {}
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "BARNABAS_BOOTSTRAP_SERVER": broker.bootstrap_servers,
            "PYSPARK_PYTHON": sys.executable,
            "NO_COLOR": "1",
            # The page's own cluster has as little to do as other Sparks in tests.
            "JDK_JAVA_OPTIONS": SHORT_LIVED,
            "SPARK_DAEMON_JAVA_OPTS": class_archive.java_options(find_java()),
        }
        self._shell = subprocess.Popen(
            ["bash", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=home,
            env=environment,
            text=True,
            start_new_session=True,
        )

    def run(self, kind: str, text: str) -> None:
        if kind == "text":
            assert self._printed.strip() == text.strip()
        elif kind == "console":
            for command, expected in _COMMAND.findall(text):
                self._command(command, expected.splitlines())
        elif file := _FILE.match(text):
            (self._home / file[1]).write_text(self._adapted(text))
        else:
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(self._adapted(text), self._names)
            self._printed = printed.getvalue()

    def close(self) -> None:
        os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate()

    def _command(self, command: str, expected: list[str]) -> None:
        if command.startswith("pip "):  # it is installed
            return
        if command.startswith("barnabas serve"):  # it runs; this only counts as a job of the shell
            command = "sleep 100000 &"
        status, output = self._ask(self._adapted(command))
        missing = {_comparable(line) for line in expected if line} - {_comparable(line) for line in output}
        assert status == 0, f"$ {command}\n" + "\n".join(output)
        assert not missing, f"$ {command}\nwithout {missing}:\n" + "\n".join(output)

    def _ask(self, command: str) -> tuple[int, list[str]]:
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(f"{command}\nstatus=$?; echo; echo {DONE} $status\n")
        self._shell.stdin.flush()
        output: list[str] = []
        for line in self._shell.stdout:
            if line.startswith(DONE):
                return int(line.split()[-1]), [line for line in output if line]
            output.append(line.rstrip())
        raise AssertionError(f"the shell has ended: {output}")

    def _adapted(self, text: str) -> str:
        text = text.replace("localhost:9092", self._broker.bootstrap_servers)
        text = text.replace('"checkpointLocation", "', f'"checkpointLocation", "{self._home}/')
        text = text.replace("/data/history", f"{self._home}/history")
        return _PORT.sub(lambda port: str(self._ports.setdefault(port[0], pick_free_port("127.0.0.1"))), text)


def _comparable(line: str) -> str:
    return " ".join(re.sub(r"\d[\d.,]*", "#", line).split())


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
def test_the_guide(page: Page) -> None:
    blocks = _BLOCK.findall((ROOT / "docs/spark.md").read_text())
    assert len(blocks) > 20
    for kind, text in blocks:
        page.run(kind, text)


@pytest.mark.usefixtures("settings")
def test_the_page_about_lambda(page: Page) -> None:
    blocks = _BLOCK.findall((ROOT / "docs/lambda.md").read_text())
    assert {kind for kind, _ in blocks} == {"python", "console", "text"}
    for kind, text in blocks:
        page.run(kind, text)


@pytest.mark.usefixtures("settings")
def test_the_section_of_the_readme(page: Page) -> None:
    section = (ROOT / "README.md").read_text().partition("\n## With Spark\n")[2].partition("\n## ")[0]
    blocks = _BLOCK.findall(section)
    assert {kind for kind, _ in blocks} == {"python", "console", "text"}
    for kind, text in blocks:
        page.run(kind, text)


def test_the_page_for_users_of_sparks_connector(page: Page) -> None:
    blocks = _BLOCK.findall((ROOT / "docs/migrate-from-spark-kafka.md").read_text())
    assert {kind for kind, _ in blocks} == {"python", "console", "text"}
    for kind, text in blocks:
        page.run(kind, text)
