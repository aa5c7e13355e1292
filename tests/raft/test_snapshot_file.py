"""Snapshots: ours survive a round trip, Kafka's are read, damage is reported."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quorum import VOTERS

from barnabas.raft.core.snapshot_file import SnapshotId, decode_snapshot, encode_snapshot, parse_snapshot_name
from barnabas.raft.core.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet
from barnabas.raft.quorum_directory import QuorumDirectory
from barnabas.records.batch import HEADER_SIZE, read_header
from barnabas.records.record import seal
from barnabas.testing.disk import SimulatedDisk
from barnabas.wire.errors import CorruptMessage

# What `kafka-storage format --standalone` of Apache Kafka 4.3.1 wrote as 00000000000000000000-0000000000.checkpoint.
KAFKA_WROTE = bytes.fromhex("""
    00000000000000000000009a000000000211b45b2f002000000002000001a1ded8a412000001a1ded8a412ffffffffffffff
    ffffffffffffff000000032a0000000800000003160000000001a1ded8a40b00001e00000208000000050a00000001000082
    0100000408000000066e00000200000001d8c0781e62e846d5b92912b6c7195bba020b434f4e54524f4c4c45520a6c6f6361
    6c686f73744a9500000000010000000000000000000000030000003f000000000213b44c49002000000000000001a1ded8a4
    1f000001a1ded8a41fffffffffffffffffffffffffffff000000011a00000008000000040600000000
""")


def encode(records: list[bytes]) -> bytes:
    return b"".join(encode_snapshot(records, epoch=3, voters=VOTERS, last_timestamp=17, now_ms=20))


@given(st.lists(st.binary(max_size=100) | st.just(bytes(70_000)), max_size=8))
def test_round_trip(records: list[bytes]) -> None:
    assert decode_snapshot(encode(records)) == (VOTERS, 17, records, 1)


def test_kafkas_bootstrap_snapshot_is_read() -> None:
    directory_id = uuid.UUID("d8c0781e-62e8-46d5-b929-12b6c7195bba")
    snapshot = decode_snapshot(KAFKA_WROTE)
    assert snapshot.voters == VoterSet(
        (Voter(ReplicaKey(1, directory_id), (VoterEndpoint("CONTROLLER", "localhost", 19093),)),)
    )
    assert snapshot.records == []


def test_ours_is_byte_for_byte_kafkas() -> None:
    snapshot = decode_snapshot(KAFKA_WROTE)
    assert snapshot.voters is not None
    ours = b"".join(
        encode_snapshot((), epoch=0, voters=snapshot.voters, last_timestamp=snapshot.last_timestamp, now_ms=0)
    )
    assert len(ours) == len(KAFKA_WROTE)
    assert decode_snapshot(ours) == snapshot


def test_damage_is_told() -> None:
    whole = encode([b"one", b"two"])
    for cut in range(len(whole)):
        with pytest.raises(CorruptMessage):
            decode_snapshot(whole[:cut])
    for position in range(len(whole)):
        broken = bytearray(whole)
        broken[position] ^= 0xFF
        with pytest.raises(CorruptMessage, match="byte"):
            decode_snapshot(bytes(broken))


def test_names() -> None:
    assert SnapshotId(12, 3).file_name == "00000000000000000012-0000000003.checkpoint"
    assert parse_snapshot_name("00000000000000000012-0000000003.checkpoint") == SnapshotId(12, 3)
    assert parse_snapshot_name("00000000000000000012-0000000003.checkpoint.tmp") is None
    assert parse_snapshot_name("quorum-state") is None


def test_whatever_is_wrong_with_it_the_operator_is_told_what_to_do() -> None:
    disk = SimulatedDisk()
    directory = QuorumDirectory(disk, "/quorum")
    disk.make_dirs("/quorum")
    good = encode([b"record"])
    header = read_header(good)
    size = header.size
    wrong_count = seal(header._replace(record_count=9), good[HEADER_SIZE:size]) + good[size:]
    unknown_codec = seal(header._replace(attributes=header.attributes | 7), good[HEADER_SIZE:size]) + good[size:]
    for content in (wrong_count, unknown_codec, good[:-1]):
        directory.write_snapshot(SnapshotId(5, 1), content)
        with pytest.raises(CorruptMessage, match=r"/quorum/0.*checkpoint is damaged at byte .* from a backup"):
            directory.newest_snapshot()
