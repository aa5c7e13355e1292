"""Frames to write with both connectors, and mistakes in them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from spark_mistakes import NOBODY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HEADERS: Final = "array<struct<key:string,value:binary>>"
COUNT: Final = 500

# The columns of rows that have an id from 0.
_KEY: Final = "if(id % 7 = 0, null, cast(repeat(cast(id as string), cast(id % 9 as int)) as binary)) as key"
_VALUE: Final = "if(id % 5 = 0, null, cast(concat('value ', id) as binary)) as value"
_HEADERS: Final = f"""if(id % 3 = 0, null, cast(array(
    named_struct('key', 'a', 'value', cast(cast(id as string) as binary)),
    named_struct('key', 'größe', 'value', null)) as {HEADERS})) as headers"""


@dataclass(frozen=True)
class Written:
    name: str
    columns: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    placed: bool = True
    """Whether keys or columns decide the partition of a record."""

    def frame(self, spark: "SparkSession", topic: str) -> "DataFrame":
        return spark.range(0, COUNT, 1, 2).selectExpr(*(column.replace("{topic}", topic) for column in self.columns))


WRITTEN: Final = (
    Written("keys and values", (_KEY.replace("id % 7 = 0", "id < 0"), _VALUE)),
    Written("all columns but the topic", (_KEY, _VALUE, _HEADERS, "cast(id % 4 as int) as partition")),
    Written("text", ("concat('schlüssel ', id) as key", "cast(id * id as string) as value")),
    Written("values alone", (_VALUE,), placed=False),
    Written(
        "some placed by hand",
        ("cast(concat('k', id) as binary) as key", _VALUE, "if(id % 2 = 0, 3, null) as partition"),
    ),
    Written("more columns than needed", ("id", "concat('k', id) as key", "'x' as value", "true as flag")),
    Written(
        "settings of the producer",
        ("concat('k', id) as key", "repeat('x', 900) as value"),
        {
            "kafka.compression.type": "zstd",
            "kafka.linger.ms": "20",
            "kafka.batch.size": "4000",
            "kafka.acks": "all",
            "kafka.max.request.size": "100000",
        },
    ),
)

Broken = Callable[["SparkSession"], "DataFrame"]


def _of(columns: str, spark: "SparkSession") -> "DataFrame":
    return spark.range(0, 5, 1, 1).selectExpr(*columns.split(";"))


@dataclass(frozen=True)
class SinkMistake:
    name: str
    columns: str
    options: Mapping[str, str]
    named: tuple[str, ...]

    @property
    def frame(self) -> Broken:
        return partial(_of, self.columns)


_TO: Final = {"topic": "sunk"}
_TEXT: Final = "'k' as key;'v' as value"
_IMPATIENT: Final = {
    "kafka.max.block.ms": "1500",
    "kafka.request.timeout.ms": "1000",
    "kafka.delivery.timeout.ms": "2000",
}
SINK_MISTAKES: Final = (
    SinkMistake("no value", "'k' as key", _TO, ("value",)),
    SinkMistake("no topic", _TEXT, {}, ("topic",)),
    SinkMistake("null as topic", f"{_TEXT};cast(null as string) as topic", {}, ("topic",)),
    SinkMistake("numbers as values", "id as value", _TO, ("value", "bigint")),
    SinkMistake("numbers as keys", "id as key;'v' as value", _TO, ("key", "bigint")),
    SinkMistake("a number as topic", f"{_TEXT};1 as topic", {}, ("topic", "int")),
    SinkMistake("text as partition", f"{_TEXT};'1' as partition", _TO, ("partition", "string")),
    SinkMistake("a long as partition", f"{_TEXT};id as partition", _TO, ("partition", "bigint")),
    SinkMistake("text as headers", f"{_TEXT};'h' as headers", _TO, ("headers", "string")),
    SinkMistake("no such topic", _TEXT, {"topic": "sank", **_IMPATIENT}, ("sank",)),
    SinkMistake("no such partition", f"{_TEXT};77 as partition", {**_TO, **_IMPATIENT}, ("sunk", "77")),
    SinkMistake("a serializer", _TEXT, {**_TO, "kafka.key.serializer": "x"}, ("key.serializer",)),
    SinkMistake("a serializer of values", _TEXT, {**_TO, "kafka.value.serializer": "x"}, ("value.serializer",)),
    SinkMistake(
        "too large a record",
        "'k' as key;repeat('v', 3000) as value",
        {**_TO, "kafka.max.request.size": "2000"},
        ("max.request.size",),
    ),
    SinkMistake("an unknown codec", _TEXT, {**_TO, "kafka.compression.type": "zip"}, ("compression.type", "zip")),
    SinkMistake("unknown acks", _TEXT, {**_TO, "kafka.acks": "most"}, ("acks", "most")),
    SinkMistake("no servers", _TEXT, {**_TO, "kafka.bootstrap.servers": ""}, ("kafka.bootstrap.servers",)),
    SinkMistake("nobody there", _TEXT, {**_TO, **_IMPATIENT, "kafka.bootstrap.servers": NOBODY}, (NOBODY,)),
)
