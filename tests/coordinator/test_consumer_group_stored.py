"""Against bytes that Apache Kafka 4.3.1 wrote."""

import uuid
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.record_format import StateRecord
from barnabas.coordinator.group.consumer import records
from barnabas.coordinator.group.consumer.group import ResolvedRegex
from barnabas.coordinator.group.consumer.member import ClassicMemberState, ConsumerMember, MemberState
from barnabas.coordinator.group.consumer.stored import (
    ConsumerGroupPartitionMetadataKey,
    StoredPartitionMetadata,
    StoredPartitionRacks,
    StoredTopicMetadata,
)
from barnabas.coordinator.group.offsets.stored import (
    CommittedOffset,
    OffsetRecord,
    TopicOffsets,
    decode_offset,
    decode_offset_plainly,
    encode_offset,
    encode_offset_plainly,
    encode_offsets,
)
from barnabas.coordinator.group.stored import decode_record, encode_record
from barnabas.wire.errors import CorruptMessage

GROUP = "gü"
TOPIC = uuid.UUID("01234567-89ab-cdef-1122-334455667788")
HOST = ClientInfo("c", "/127.0.0.1")
MEMBER = ConsumerMember(
    member_id="m",
    member_epoch=6,
    previous_member_epoch=5,
    state=MemberState.UNREVOKED_PARTITIONS,
    instance_id="i",
    rack_id="r",
    client=HOST,
    subscribed_topic_names=frozenset({"b", "a"}),
    subscribed_topic_regex="x.*",
    rebalance_timeout_ms=300_000,
    server_assignor="range",
    assigned={TOPIC: {0: 4, 2: 6}},
    pending_revocation={TOPIC: {1: 3}},
)
CLASSIC = ConsumerMember(
    member_id="m",
    client=HOST,
    subscribed_topic_names=frozenset({"a"}),
    rebalance_timeout_ms=300_000,
    classic=ClassicMemberState(45_000, (("range", b"\1\2"),)),
)
RACKS = StoredPartitionMetadata(
    topics=(
        StoredTopicMetadata(
            topic_id=TOPIC,
            topic_name="t",
            num_partitions=1,
            partition_metadata=(StoredPartitionRacks(partition=0, racks=("r",)),),
        ),
    )
)

CASES = [
    (records.group_epoch(GROUP, 7, -42), "0003000367c3bc", "000000000007010008ffffffffffffffd6"),
    (records.group_epoch(GROUP, 7, 0), "0003000367c3bc", "00000000000700"),
    (
        StateRecord(ConsumerGroupPartitionMetadataKey(group_id=GROUP), RACKS),
        "0004000367c3bc",
        "0000020123456789abcdef11223344556677880274000000010200000000020272000000",
    ),
    (records.no_partition_metadata(GROUP), "0004000367c3bc", None),
    (
        records.member_metadata(GROUP, MEMBER),
        "0005000367c3bc00016d",
        "00000269027202630b2f3132372e302e302e31030261026204782e2a000493e00672616e676501000100",
    ),
    (
        records.member_metadata(GROUP, CLASSIC),
        "0005000367c3bc00016d",
        "0000000002630b2f3132372e302e302e3102026101000493e000010011010000afc8020672616e67650301020000",
    ),
    (
        records.target_epoch(GROUP, 6, 1_750_000_000_000),
        "0006000367c3bc",
        "000000000006010008000001977420dc00",
    ),
    (
        records.target(GROUP, "m", {TOPIC: frozenset({2, 0})}),
        "0007000367c3bc00016d",
        "0000020123456789abcdef11223344556677880300000000000000020000",
    ),
    (
        records.current_assignment(GROUP, MEMBER),
        "0008000367c3bc00016d",
        "0000000000060000000501020123456789abcdef112233445566778803000000000000000201000903000000040000000602012345678"
        "9abcdef11223344556677880200000001010005020000000300",
    ),
    (
        records.regex(GROUP, "x.*", ResolvedRegex(frozenset({"x2", "x1"}), 123, 1_750_000_000_000)),
        "0010000367c3bc0003782e2a",
        "000003037831037832000000000000007b000001977420dc0000",
    ),
]


@pytest.mark.parametrize(("record", "key", "value"), CASES)
def test_written_as_kafka_writes(record: StateRecord, key: str, value: str | None) -> None:
    encoded = encode_record(record)
    assert (encoded.key.hex(), None if encoded.value is None else encoded.value.hex()) == (key, value)
    assert decode_record(*encoded) == record


def test_members_come_back() -> None:
    assert (
        ConsumerMember(member_id="m")
        .with_metadata(MEMBER.stored_metadata())
        .with_assignment(MEMBER.stored_assignment())
        == MEMBER
    )
    assert ConsumerMember(member_id="m").with_metadata(CLASSIC.stored_metadata()) == CLASSIC


def test_assignments_of_kafka_before_4_3_have_the_member_epoch() -> None:
    stored = bytes.fromhex("0000000000060000000500020123456789abcdef1122334455667788030000000000000002000100")
    record = decode_record(bytes.fromhex("0008000367c3bc00016d"), stored)
    assert isinstance(record, StateRecord)
    assert record.value is not None
    assert ConsumerMember(member_id="m").with_assignment(record.value).assigned == {TOPIC: {0: 6, 2: 6}}


def test_a_state_of_later_versions_is_unknown() -> None:
    assert MemberState.of(77) is MemberState.UNKNOWN


texts = st.text(max_size=40)
offsets = st.builds(
    CommittedOffset,
    offset=st.integers(-(2**63), 2**63 - 1),
    leader_epoch=st.integers(-(2**31), 2**31 - 1),
    metadata=st.one_of(texts, st.text(min_size=100, max_size=200)),
    commit_timestamp_ms=st.integers(0, 2**62),
    expire_timestamp_ms=st.one_of(st.just(-1), st.integers(0, 2**62)),
    topic_id=st.one_of(st.none(), st.uuids()),
)
offset_records = st.builds(OffsetRecord, texts, texts, st.integers(0, 2**31 - 1), st.one_of(st.none(), offsets))


@given(offset_records)
def test_offsets_packed_by_hand_are_those_of_the_declared_format(record: OffsetRecord) -> None:
    encoded = encode_offset(record)
    assert encoded == encode_offset_plainly(record)
    assert decode_offset(*encoded) == decode_offset_plainly(*encoded)


@given(texts, texts, st.dictionaries(st.integers(0, 2**31 - 1), offsets, max_size=5))
def test_all_offsets_of_a_commit_are_stored_as_single_ones(
    group: str, topic: str, committed: dict[int, CommittedOffset]
) -> None:
    records = [OffsetRecord(group, topic, partition, offset) for partition, offset in committed.items()]
    assert encode_offsets(TopicOffsets(group, topic, committed)) == list(map(encode_offset_plainly, records))


@given(st.binary(max_size=60))
def test_broken_offsets_are_read_alike(data: bytes) -> None:
    key = encode_offset(OffsetRecord("g", "t", 0, None)).key

    def outcome(decode: object) -> object:
        try:
            return decode(key, b"\0\4" + data)  # type: ignore[operator]  # one of two functions
        except Exception as error:
            return type(error)

    assert outcome(decode_offset) == outcome(decode_offset_plainly)


@given(st.sampled_from([each[1:] for each in CASES]), st.data())
def test_broken_records_are_told(case: tuple[str, str | None], data: st.DataObject) -> None:
    """Truncated, changed or extended bytes: either read, or refused as corrupt, with no other error."""

    def broken(whole: bytes) -> bytes:
        start = data.draw(st.integers(0, len(whole)))
        end = data.draw(st.integers(start, len(whole)))
        return whole[:start] + data.draw(st.binary(max_size=6)) + whole[end:]

    key, value = case
    with suppress(CorruptMessage):
        decode_record(broken(bytes.fromhex(key)), None if value is None else broken(bytes.fromhex(value)))
