"""The option tables in the guide match the code: the same names, and the same defaults."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from barnabas.spark.options.names import SINK, SOURCE
from barnabas.spark.options.sink import sink_options
from barnabas.spark.options.source import batch_options, stream_options

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "spark.md").read_text()
SOURCE_BASE = {"kafka.bootstrap.servers": "b:1", "subscribe": "t"}
SINK_BASE = {"kafka.bootstrap.servers": "b:1"}

_ROW = re.compile(r"^\| `([\w.]+)` \|(.*?)\|", re.MULTILINE)


def table(heading: str) -> dict[str, str]:
    """The default of each option in the table below this heading."""
    section = PAGE.partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    return {name: default.strip().strip("`") for name, default in _ROW.findall(section)}


READING, WRITING = table("Reading"), table("Writing")


def without_properties(options: Any) -> dict[str, object]:
    return {field.name: getattr(options, field.name) for field in dataclasses.fields(options)} | {"properties": None}


def test_names() -> None:
    reference = (ROOT / "docs" / "spark-options.md").read_text()
    assert [name for name in (*SOURCE, *SINK) if f"`{name}`" not in reference] == []
    assert {name for name in READING if not name.startswith("kafka.")} == set(SOURCE)
    assert {name for name in WRITING if not name.startswith("kafka.")} == set(SINK)


@pytest.mark.parametrize(
    "name", [name for name, default in READING.items() if default and name not in ("startingOffsets", "columns")]
)
def test_defaults_of_reading(name: str) -> None:
    parsed = batch_options({**SOURCE_BASE, name: READING[name]})
    assert without_properties(parsed) == without_properties(batch_options(SOURCE_BASE))
    assert parsed.isolation_level == batch_options(SOURCE_BASE).isolation_level


def test_where_a_read_begins() -> None:
    assert READING["startingOffsets"] == "earliest`; in streams `latest"
    earliest = batch_options({**SOURCE_BASE, "startingOffsets": "earliest"})
    latest = stream_options({**SOURCE_BASE, "startingOffsets": "latest"})
    assert batch_options(SOURCE_BASE).start == earliest.start
    assert stream_options(SOURCE_BASE).start == latest.start != earliest.start


@pytest.mark.parametrize("name", [name for name, default in WRITING.items() if default and name != "exactlyOnceId"])
def test_defaults_of_writing(name: str) -> None:
    parsed = sink_options({**SINK_BASE, name: WRITING[name]})
    assert without_properties(parsed) == without_properties(sink_options(SINK_BASE))
