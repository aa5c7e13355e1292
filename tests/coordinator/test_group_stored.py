"""Against bytes that Apache Kafka 4.3.1 wrote."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordinator.group.classic.records import group_metadata, group_removal
from barnabas.coordinator.group.classic.stored import StoredGroup, StoredMember
from barnabas.coordinator.group.common.record_format import StateRecord
from barnabas.coordinator.group.offsets.stored import CommittedOffset, OffsetRecord
from barnabas.coordinator.group.stored import GroupCoordinatorRecord, decode_record, encode_record
from barnabas.wire.errors import CorruptMessage

OFFSET_KEY = bytes.fromhex("0001000367c3bc00066f726465727300000007")
GROUP_KEY = bytes.fromhex("0002000367c3bc")
OFFSET_V4_WITH_TOPIC_ID = bytes.fromhex(
    "0004000000000000002a00000003056e6f7465000001977420dc000100100123456789abcdef1122334455667788"
)
OFFSET_V4 = bytes.fromhex("0004000000000000002a00000003056e6f7465000001977420dc0000")
OFFSET_V3 = bytes.fromhex("0003000000000000002a0000000300046e6f7465000001977420dc00")
OFFSET_V2 = bytes.fromhex("0002000000000000002a00046e6f7465000001977420dc00")
OFFSET_V1 = bytes.fromhex("0001000000000000002a00046e6f7465000001977420dc00000001977420ef88")
OFFSET_V0 = bytes.fromhex("0000000000000000002a00046e6f7465000001977420dc00")
GROUP_V0 = bytes.fromhex(
    "00000008636f6e73756d657200000005000572616e676500036d2d310000000200036d2d31000163000a2f3132372e302e302e310000afc8"
    "000000020102000000010300036d2d32000163000a2f3132372e302e302e310000afc80000000000000000"
)
GROUP_V1 = bytes.fromhex(
    "00010008636f6e73756d657200000005000572616e676500036d2d310000000200036d2d31000163000a2f3132372e302e302e310000ea60"
    "0000afc8000000020102000000010300036d2d32000163000a2f3132372e302e302e310000ea600000afc80000000000000000"
)
GROUP_V2 = bytes.fromhex(
    "00020008636f6e73756d657200000005000572616e676500036d2d31000001977420dc000000000200036d2d31000163000a2f3132372e30"
    "2e302e310000ea600000afc8000000020102000000010300036d2d32000163000a2f3132372e302e302e310000ea600000afc80000000000"
    "000000"
)
GROUP_V3 = bytes.fromhex(
    "00030008636f6e73756d657200000005000572616e676500036d2d31000001977420dc000000000200036d2d310003692d31000163000a2f"
    "3132372e302e302e310000ea600000afc8000000020102000000010300036d2d32ffff000163000a2f3132372e302e302e310000ea600000"
    "afc80000000000000000"
)
GROUP_V4 = bytes.fromhex(
    "000409636f6e73756d6572000000050672616e6765046d2d31000001977420dc0003046d2d3104692d3102630b2f3132372e302e302e3100"
    "00ea600000afc8030102020300046d2d320002630b2f3132372e302e302e310000ea600000afc801010000"
)
EMPTY_GROUP_V3 = bytes.fromhex("0003000000000000ffffffff000001977420dc0000000000")

NOW_MS = 1_750_000_000_000
OFFSET = CommittedOffset(offset=42, leader_epoch=3, metadata="note", commit_timestamp_ms=NOW_MS)
TOPIC_ID = uuid.UUID("01234567-89ab-cdef-1122-334455667788")
MEMBERS = (
    StoredMember(
        member_id="m-1",
        group_instance_id="i-1",
        client_id="c",
        client_host="/127.0.0.1",
        rebalance_timeout=60_000,
        session_timeout=45_000,
        subscription=b"\1\2",
        assignment=b"\3",
    ),
    StoredMember(
        member_id="m-2",
        client_id="c",
        client_host="/127.0.0.1",
        rebalance_timeout=60_000,
        session_timeout=45_000,
    ),
)
GROUP = StoredGroup(
    protocol_type="consumer",
    generation=5,
    protocol="range",
    leader="m-1",
    current_state_timestamp=NOW_MS,
    members=MEMBERS,
)


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (OffsetRecord("gü", "orders", 7, OFFSET._replace(topic_id=TOPIC_ID)), OFFSET_KEY, OFFSET_V4_WITH_TOPIC_ID),
        (OffsetRecord("gü", "orders", 7, OFFSET), OFFSET_KEY, OFFSET_V4),
        (
            OffsetRecord("gü", "orders", 7, OFFSET._replace(leader_epoch=-1, expire_timestamp_ms=NOW_MS + 5_000)),
            OFFSET_KEY,
            OFFSET_V1,
        ),
        (OffsetRecord("gü", "orders", 7, None), OFFSET_KEY, None),
        (group_metadata("gü", GROUP), GROUP_KEY, GROUP_V3),
        (group_metadata("gü", StoredGroup(current_state_timestamp=NOW_MS)), GROUP_KEY, EMPTY_GROUP_V3),
        (group_removal("gü"), GROUP_KEY, None),
    ],
)
def test_written_as_kafka_writes(record: GroupCoordinatorRecord, key: bytes, value: bytes | None) -> None:
    assert encode_record(record) == (key, value)
    assert decode_record(key, value) == record


@pytest.mark.parametrize(("value", "leader_epoch"), [(OFFSET_V0, -1), (OFFSET_V2, -1), (OFFSET_V3, 3), (OFFSET_V4, 3)])
def test_every_version_of_an_offset_is_read(value: bytes, leader_epoch: int) -> None:
    expected = OffsetRecord("gü", "orders", 7, OFFSET._replace(leader_epoch=leader_epoch))
    assert decode_record(OFFSET_KEY, value) == expected
    assert decode_record(b"\0\0" + OFFSET_KEY[2:], value) == expected, "keys of type 0 are older, and the same"


@pytest.mark.parametrize("value", [GROUP_V0, GROUP_V1, GROUP_V2, GROUP_V3, GROUP_V4])
def test_every_version_of_a_group_is_read(value: bytes) -> None:
    record = decode_record(GROUP_KEY, value)
    assert isinstance(record, StateRecord)
    assert record.value is not None
    version = value[1]
    assert (record.value.protocol_type, record.value.generation, record.value.protocol) == ("consumer", 5, "range")
    assert record.value.leader == "m-1"
    assert record.value.current_state_timestamp == (NOW_MS if version >= 2 else -1)
    first = record.value.members[0]
    assert first.rebalance_timeout == (60_000 if version >= 1 else -1)
    assert first.group_instance_id == ("i-1" if version >= 3 else None)
    assert (first.session_timeout, first.subscription, first.assignment) == (45_000, b"\1\2", b"\3")


def test_other_kinds_of_groups_are_skipped() -> None:
    streams = b"\0\x11\0\1g"
    assert decode_record(streams, b"\0\0") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", None),
        (b"\0", None),
        (b"\0\2\0", None),
        (GROUP_KEY, b"\0\5"),
        (OFFSET_KEY, OFFSET_V4[:9]),
        (GROUP_KEY, b""),
    ],
)
def test_broken_records_are_told(key: bytes, value: bytes | None) -> None:
    with pytest.raises(CorruptMessage):
        decode_record(key, value)


texts = st.text(max_size=20)


@given(
    texts,
    texts,
    st.integers(0, 2**31 - 1),
    st.builds(
        CommittedOffset,
        offset=st.integers(0, 2**63 - 1),
        leader_epoch=st.integers(-1, 2**31 - 1),
        metadata=texts,
        commit_timestamp_ms=st.integers(0, 2**62),
        expire_timestamp_ms=st.just(-1),
        topic_id=st.none() | st.uuids(version=4),
    ),
)
def test_offsets_come_back(group: str, topic: str, partition: int, offset: CommittedOffset) -> None:
    record = OffsetRecord(group, topic, partition, offset)
    assert decode_record(*encode_record(record)) == record
