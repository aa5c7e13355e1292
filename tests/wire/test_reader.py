"""What comes from outside may lie about its counts and sizes, and hold tagged fields that we do not know."""

import struct
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.coordinator.group.stored import decode_record
from barnabas.metadata.records.codec import decode_metadata_record
from barnabas.wire.codec import (
    REQUEST_ELEMENTS_MAX,
    MalformedMessage,
    decode_request,
    decode_response,
    encode_response,
    request_reader,
    request_reader_in_place,
)
from barnabas.wire.errors import CorruptMessage
from barnabas.wire.primitives import uvarint

HUGE_COMPACT = b"\xff\xff\xff\xff\x0f"
HUGE = struct.pack(">i", 2**31 - 1)


@pytest.mark.parametrize(
    ("api_name", "version", "body"),
    [
        ("metadata", 1, HUGE),
        ("metadata", 12, HUGE_COMPACT),
        ("metadata", 12, b"\xff\xff\xff\xff\x7f"),
        ("produce", 8, b"\xff\xff" + b"\x00\x01" + bytes(4) + HUGE),
        ("produce", 9, b"\x00" + b"\x00\x01" + bytes(4) + HUGE_COMPACT),
        ("produce", 9, b"\x00" + b"\x00\x01" + bytes(4) + b"\x02\x02t" + HUGE_COMPACT),
        ("produce", 9, b"\x00" + b"\x00\x01" + bytes(4) + b"\x03\x02t\x01\x00\x02u" + HUGE_COMPACT),
        ("describe_groups", 5, HUGE_COMPACT),
        ("create_topics", 7, b"\x02\x02t" + bytes(6) + HUGE_COMPACT),
        ("create_topics", 2, struct.pack(">ih", 1, 1) + b"t" + bytes(6) + struct.pack(">ii", 1, 0) + HUGE),
        ("offset_fetch", 8, b"\x02\x02g\x02\x02t" + HUGE_COMPACT),
    ],
)
def test_a_count_larger_than_the_bytes_that_remain_is_refused(api_name: str, version: int, body: bytes) -> None:
    for padding in (0, 1, 50):
        with pytest.raises(MalformedMessage, match="array"):
            decode_request(api_name, version, body + bytes(padding), 0)


@pytest.mark.parametrize(
    ("api_name", "version", "body"),
    [
        ("produce", 8, b"\xff\xff" + b"\x00\x01" + bytes(4) + b"\xff\xff\xff\xff"),
        ("produce", 9, b"\x00" + b"\x00\x01" + bytes(4) + b"\x00\x00"),
        ("delete_groups", 2, b"\x00\x00"),
        ("delete_groups", 0, b"\xff\xff\xff\xfe"),
    ],
)
def test_null_is_no_array_where_the_schema_has_none(api_name: str, version: int, body: bytes) -> None:
    with pytest.raises(MalformedMessage, match=r"-[12] elements"):
        decode_request(api_name, version, body, 0)


def test_numbers_may_be_longer_than_they_need_to_be() -> None:
    """Two bytes for a count of one and for a null string."""
    body = b"\x82\x00\x02g\x80\x00" + bytes(4) + b"\x82\x00\x02t\x01\x00\x00" + b"\x01\x01\x07\x03new"
    (group,) = decode_request("offset_fetch", 9, body, 0).groups
    assert group.member_id is None
    assert [topic.name for topic in group.topics] == ["t"]


def test_a_request_names_no_more_than_can_be_handled_soon() -> None:
    for count, allowed in ((REQUEST_ELEMENTS_MAX, True), (REQUEST_ELEMENTS_MAX + 1, False)):
        body = struct.pack(">i", count) + b"\x00\x01g" * count
        if allowed:
            assert len(decode_request("delete_groups", 0, body, 0).groups_names) == count
        else:
            with pytest.raises(MalformedMessage, match="allowed"):
                decode_request("delete_groups", 0, body, 0)


@pytest.mark.parametrize("make_reader", [request_reader, request_reader_in_place])
def test_a_produce_request_is_held_to_it_too(
    make_reader: Callable[[str, int], Callable[[memoryview, int], Any]],
) -> None:
    read = make_reader("produce", 9)
    before = b"\x00" + b"\xff\xff" + bytes(4) + b"\x02" + b"\x02t"
    for count, allowed in ((REQUEST_ELEMENTS_MAX, True), (REQUEST_ELEMENTS_MAX + 1, False)):
        body = memoryview(before + uvarint(count + 1) + (bytes(4) + b"\x00\x00") * count + bytes(2))
        if allowed:
            assert len(read(body, 0).topic_data[0].partition_data) == count
        else:
            with pytest.raises(MalformedMessage, match="allowed"):
                read(body, 0)


def test_a_tagged_field_does_not_hide_an_array() -> None:
    features = b"\x00\x00\x01\x00\x00\x00\x00"  # no error, no keys, no throttling
    with pytest.raises(MalformedMessage, match="array"):
        decode_response("api_versions", 3, features + b"\x01\x00\x05" + HUGE_COMPACT, 0)
    with pytest.raises(MalformedMessage, match="tagged"):
        decode_response("api_versions", 3, features + b"\x01\x00\x02\x01" + HUGE_COMPACT, 0)


def test_unknown_tagged_fields_are_ignored_as_kafka_does() -> None:
    tags = b"\x02\x07\x03new\x85\x01\x00"  # tag 7 with three bytes, tag 133 with none
    heartbeat = b"\x02g" + bytes(4) + b"\x02m" + b"\x00"
    assert decode_request("heartbeat", 4, heartbeat + tags, 0) == decode_request("heartbeat", 4, heartbeat + b"\x00", 0)
    metadata = b"\x03" + bytes(16) + b"\x02a%s" + bytes(16) + b"\x02b%s" + b"\x01\x00%s"
    decoded = decode_request("metadata", 12, b"head" + metadata % (tags, b"\x00", tags) + b"trailing", 4)
    assert decoded == decode_request("metadata", 12, metadata % (b"\x00", b"\x00", b"\x00"), 0)
    assert [topic.name for topic in decoded.topics] == ["a", "b"]

    # Beside a known one, and within it: the offset's topic id is tag 0.
    key = b"\x00\x01\x00\x01g\x00\x01t" + bytes(4)
    value = b"\x00\x04" + bytes(12) + b"\x05meta" + bytes(8)
    known = b"\x00\x10" + bytes(range(16))
    stored = decode_record(key, value + b"\x03\x09\x01x" + known + b"\x0a\x01y")
    assert stored is not None
    assert stored == decode_record(key, value + b"\x01" + known)
    answer = b"\x00\x00\x01" + bytes(4) + b"\x02\x01\x08" + bytes(8) + b"\x63\x02zz"
    assert decode_response("api_versions", 3, answer, 0).finalized_features_epoch == 0


def test_stored_records_are_held_to_it_too() -> None:
    key = b"\x00\x02\x00\x01g"
    value = b"\x00\x03" + b"\x00\x08consumer" + bytes(4) + b"\xff\xff\xff\xff" + bytes(8) + HUGE
    with pytest.raises(CorruptMessage, match="array"):
        decode_record(key, value)
    partition = b"\x01\x03\x01" + bytes(4) + bytes(16) + HUGE_COMPACT
    with pytest.raises(CorruptMessage, match="array"):
        decode_metadata_record(partition)


def test_an_entity_that_is_neither_there_nor_null_is_not_read() -> None:
    from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

    whole = encode_response("consumer_group_heartbeat", 1, ConsumerGroupHeartbeatResponse(assignment=None))
    assert whole[-2:] == b"\xff\x00"
    # What follows the marker would be an array of two thousand million elements.
    with pytest.raises(MalformedMessage):
        decode_response("consumer_group_heartbeat", 1, whole[:-2] + b"\x80\xff\xff\xff\xff\x0f\x00", 0)
