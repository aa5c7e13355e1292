"""The columns are those that Spark expects, and unusual batches are handled as by its Kafka connector."""

from typing import Any

import pytest
from plain_decoder import ALL_COLUMNS, plain_rows, table
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.records.batch import HEADER_SIZE, MAGIC_POSITION, read_header
from barnabas.records.record import Header, Record, build_batch, seal
from barnabas.spark.arrow.decode import UnreadableRecords, decode
from barnabas.spark.arrow.schema import arrow_schema

HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
SPARK_TYPES: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": HEADERS,
}


def decoded(data: bytes, columns: tuple[str, ...] = ALL_COLUMNS, **options: Any) -> Any:
    limits = {"first_offset": 0, "end_offset": 1 << 62, **options}
    return decode(data, topic="t", partition=3, columns=columns, **limits)


@pytest.mark.parametrize("columns", [ALL_COLUMNS, ("headers", "offset"), ("timestampType",), ALL_COLUMNS[::-1]])
def test_the_schema_is_the_one_that_spark_makes_of_the_connectors_types(columns: tuple[str, ...]) -> None:
    wanted = to_arrow_schema(StructType([StructField(name, SPARK_TYPES[name]) for name in columns]), timezone="UTC")
    assert arrow_schema(columns).equals(wanted, check_metadata=True)
    records = [Record(timestamp=0, value=b"v", headers=(Header("h", None),)), Record(timestamp=0)]
    assert wanted.equals(decoded(build_batch(records), columns).batch.schema)


def test_unknown_columns_and_no_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="no column vlaue; choose from key, value"):
        arrow_schema(["vlaue"])
    with pytest.raises(ValueError, match="no columns"):
        arrow_schema([])


def test_a_record_without_headers_has_null_and_not_an_empty_array() -> None:
    records = [Record(timestamp=0, headers=(Header("a", b""), Header("a", None))), Record(timestamp=0)]
    headers = decoded(build_batch(records), ("headers",)).batch["headers"].to_pylist()
    assert headers == [[{"key": "a", "value": b""}, {"key": "a", "value": None}], None]


def test_nothing_fetched_leaves_the_offset_where_it_is() -> None:
    assert decoded(b"", first_offset=17) == (None, 17)
    assert decoded(build_batch([Record(timestamp=0)])[:-1], first_offset=17) == (None, 17)


def test_a_batch_without_wanted_records_is_still_passed() -> None:
    control = build_batch([Record(timestamp=0, key=bytes(4), value=bytes(6))], base_offset=5, control=True)
    emptied = seal(read_header(build_batch([Record(timestamp=0)] * 9, base_offset=6))._replace(record_count=0), b"")
    assert decoded(control) == (None, 6)
    assert decoded(control + emptied) == (None, 15)
    assert decoded(build_batch([Record(timestamp=0)] * 5, base_offset=0), first_offset=9) == (None, 5)


def test_timestamps_of_the_broker_and_of_producers() -> None:
    created = build_batch([Record(timestamp=50), Record(timestamp=-1), Record(timestamp=70)])
    appended = build_batch([Record(timestamp=50), Record(timestamp=90)], base_offset=3, log_append_time=12)
    batch = decoded(created + appended, ("timestamp", "timestampType")).batch
    assert batch["timestamp"].cast("int64").to_pylist() == [50_000, -1000, 70_000, 12_000, 12_000]
    assert batch["timestampType"].to_pylist() == [0, 0, 0, 1, 1]


def test_a_timestamp_that_spark_cannot_hold_spoils_only_that_column() -> None:
    batch = build_batch([Record(timestamp=2**62, value=b"v")])
    with pytest.raises(UnreadableRecords, match="does not fit into Spark's type"):
        decoded(batch)
    assert decoded(batch, ("value",)).batch["value"].to_pylist() == [b"v"]


@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_formats_are_named(magic: int) -> None:
    message = bytearray(30)
    message[MAGIC_POSITION] = magic
    for data in (bytes(message), bytes(message) + bytes(100)):
        with pytest.raises(UnreadableRecords, match=rf"message format {magic}.*\nhint: copy the topic"):
            decoded(data)


def test_a_wrong_crc_is_found_unless_it_is_not_looked_for() -> None:
    batch = bytearray(build_batch([Record(timestamp=0, value=b"value")]))
    batch[-3] ^= 1
    with pytest.raises(UnreadableRecords, match=r"t-3 from offset 0 on: the batch at offset 0 does not match its CRC"):
        decoded(bytes(batch))
    assert decoded(bytes(batch), ("value",), check_crc=False).batch["value"].to_pylist() == [b"valte"]


def test_a_claim_of_more_records_than_bytes_is_not_believed() -> None:
    header = read_header(build_batch([Record(timestamp=0)]))
    with pytest.raises(UnreadableRecords, match="more records than its bytes can hold"):
        decoded(seal(header._replace(record_count=2**31 - 1), bytes(100)))


@pytest.mark.parametrize(("batches", "count"), [(1, 100), (1, 12_000), (3, 700), (60, 100)])
def test_runs_of_equal_records_and_lengths_at_random(batches: int, count: int) -> None:
    """Every strategy: long runs, runs in many batches, parallel steps, and one by one; and records of 8 KiB."""
    logs: dict[str, bytes] = {"runs": b"", "random": b"", "giants": b""}
    for number in range(batches):
        like = [Record(timestamp=index // 50, value=b"x" * 20) for index in range(count)]
        other = [Record(timestamp=0, value=b"y" * (index * 7919 % 90)) for index in range(count)]
        giants = [other[index]._replace(value=b"z" * 9000) if index == 60 else other[index] for index in range(count)]
        for name, content in (("runs", like), ("random", other), ("giants", giants)):
            logs[name] += build_batch(content, base_offset=number * count)
    for data in logs.values():
        rows = plain_rows(data, first_offset=0, end_offset=1 << 62)
        assert decoded(data, ("offset", "value")).batch.equals(table(rows, ("offset", "value")))


def test_values_that_look_like_records_mislead_nobody() -> None:
    """Where guessing begins in the middle of a batch, a batch inside a value is a trap."""
    inner = build_batch([Record(timestamp=0, value=b"i" * (index % 50)) for index in range(40)])[HEADER_SIZE:]
    content = [Record(timestamp=0, value=inner + b"o" * (index * 31 % 60)) for index in range(3000)]
    data = build_batch(content)
    rows = plain_rows(data, first_offset=0, end_offset=1 << 62)
    assert decoded(data, ("offset", "value")).batch.equals(table(rows, ("offset", "value")))


def test_short_buffers_are_read_to_their_last_byte() -> None:
    smallest = build_batch([Record(timestamp=0)])
    assert len(smallest) - HEADER_SIZE == 7
    assert decoded(smallest, ("key", "offset", "headers")).batch.to_pylist() == [
        {"key": None, "offset": 0, "headers": None}
    ]
