"""Every metadata record survives a round trip, and Apache Kafka's bytes decode to what Kafka's dump shows."""

import base64
import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.records import (
    RECORD_TYPES,
    PartitionRecord,
    UnknownRecord,
    decode_metadata_record,
    encode_metadata_record,
)
from barnabas.wire.codec import encode
from barnabas.wire.errors import CorruptMessage
from barnabas.wire.schema import ARRAY, Field, Message

INTEGERS = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
}
# The zero id is read as None: no id at all.
IDS = st.uuids().filter(lambda value: value.int != 0)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **INTEGERS,
    "bool": st.booleans(),
    "string": st.text(max_size=20),
    "bytes": st.binary(max_size=20),
    "uuid": IDS,
    "float64": st.floats(allow_nan=False),
}


def values_of(field: Field) -> st.SearchStrategy[Any]:
    if field.kind == ARRAY:
        assert field.element is not None
        values: st.SearchStrategy[Any] = st.lists(values_of(field.element), max_size=3).map(tuple)
    else:
        values = VALUES[field.kind] if field.entity is None else entities(field.entity)
    return values if field.nullable_since else st.none() | values


def entities(shape: type[Message]) -> st.SearchStrategy[Any]:
    return st.builds(shape, **{name: values_of(field) for name, field in shape.layout.fields.items()})


@given(st.sampled_from(sorted(RECORD_TYPES)).flatmap(lambda key: entities(RECORD_TYPES[key])))
def test_round_trip(record: Any) -> None:
    assert decode_metadata_record(encode_metadata_record(record)) == record


def test_a_record_from_an_older_cluster_lacks_what_came_later() -> None:
    topic_id = uuid.UUID(int=7)
    newest = encode(PartitionRecord(partition_id=3, topic_id=topic_id, replicas=(1, 2), isr=(1,), leader=1))
    # Version 0 ends after the partition epoch: no (empty) array of directories before the tags.
    version_0 = bytes((1, 3, 0)) + newest[:-2] + newest[-1:]
    assert decode_metadata_record(version_0) == PartitionRecord(
        partition_id=3, topic_id=topic_id, replicas=(1, 2), isr=(1,), leader=1
    )


def test_a_record_we_do_not_know_is_marked_not_misread() -> None:
    assert decode_metadata_record(bytes((1, 99, 0, 5))) == UnknownRecord(99, 0, b"\x05")
    newer = bytes((1, 2, 9)) + b"later"
    assert decode_metadata_record(newer) == UnknownRecord(2, 9, b"later")


@pytest.mark.parametrize(
    "value", [b"", b"\x01", b"\x01\x02", b"\x80\x80\x80\x80\x80\x80", b"\x02\x02\x00", b"\x01\x02\x00\x05a"]
)
def test_damage_is_reported(value: bytes) -> None:
    with pytest.raises(CorruptMessage):
        decode_metadata_record(value)


# Records of a metadata log that Apache Kafka 4.3.1 wrote, each beside what Kafka's own kafka-dump-log prints for it.
KAFKA_WROTE = [
    json.loads(line) for line in (Path(__file__).parent / "kafka" / "records.jsonl").read_text().splitlines()
]


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def assert_says(ours: Any, kafkas: Any) -> None:
    if isinstance(kafkas, dict):
        for name, value in kafkas.items():
            assert_says(getattr(ours, snake(name)), value)
    elif isinstance(kafkas, list):
        assert len(ours) == len(kafkas)
        for one, other in zip(ours, kafkas, strict=True):
            assert_says(one, other)
    elif isinstance(ours, uuid.UUID):
        assert ours.bytes == base64.urlsafe_b64decode(kafkas + "==")
    else:
        assert ours == kafkas


@pytest.mark.parametrize("sample", KAFKA_WROTE, ids=lambda sample: sample["dump"]["type"])
def test_what_kafka_wrote_is_read_as_kafka_reads_it(sample: Any) -> None:
    value = bytes.fromhex(sample["value"])
    record: Any = decode_metadata_record(value)
    assert snake(type(record).__name__).upper() == sample["dump"]["type"]
    assert_says(record, sample["dump"]["data"])
    if record.layout.last_version == sample["dump"]["version"]:
        assert encode_metadata_record(record) == value
