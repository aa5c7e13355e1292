"""Records in internal topics, from other brokers or older versions: groups, transactions, metadata, the quorum."""

import random
import uuid
from typing import Final

from barnabas.coordinator.group.classic.records import group_metadata, group_removal
from barnabas.coordinator.group.classic.stored import StoredGroup, StoredMember
from barnabas.coordinator.group.offsets.stored import CommittedOffset, OffsetRecord
from barnabas.coordinator.group.stored import decode_record, encode_record
from barnabas.coordinator.share.settings import ShareCoordinatorSettings
from barnabas.coordinator.share.shard import ShareShard
from barnabas.coordinator.share.stored import Snapshot, SnapshotRecord, Update, UpdateRecord
from barnabas.coordinator.share.stored import decode_record as decode_share_state
from barnabas.coordinator.share.stored import encode_record as encode_share_state
from barnabas.coordinator.txn.states import STATES
from barnabas.coordinator.txn.stored import TransactionRecord
from barnabas.coordinator.txn.stored import decode_record as decode_transaction
from barnabas.coordinator.txn.stored import encode_record as encode_transaction
from barnabas.coordinator.txn.transaction import Transaction
from barnabas.metadata.records.codec import (
    RECORD_TYPES,
    UnknownRecord,
    decode_metadata_record,
    encode_metadata_record,
)
from barnabas.model import TopicPartition
from barnabas.model.share import SharePartitionKey, StateBatch
from barnabas.raft.core.election_state import ElectionState, decode_election_state, encode_election_state
from barnabas.raft.core.snapshot_file import decode_snapshot, encode_snapshot
from barnabas.raft.core.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet
from barnabas.wire.errors import CorruptMessage, KafkaError
from fuzz.random_messages import RandomMessages
from fuzz.target import Target


def _uuid(rng: random.Random) -> uuid.UUID:
    return uuid.UUID(int=rng.getrandbits(128))


def _group_records(rng: random.Random) -> list[bytes]:
    """One byte with the length of the key, the key, and the value; an empty value is a tombstone."""
    member = StoredMember(member_id="m", client_id="c", client_host="/h", subscription=b"s" * 9, assignment=b"a" * 9)
    group = StoredGroup(protocol_type="consumer", generation=3, protocol="range", leader="m", members=(member,) * 2)
    records = (
        OffsetRecord("g", "t", 0, None),
        OffsetRecord("g", "t", 1, CommittedOffset(5, -1, "meta", 1, topic_id=_uuid(rng))),
        OffsetRecord("g", "t", 1, CommittedOffset(5, 2, "", 1, expire_timestamp_ms=9)),
        group_removal("g"),
        group_metadata("g", group),
    )
    encoded = [encode_record(record) for record in records]
    return [bytes((len(key),)) + key + (value or b"") for key, value in encoded]


def _read_group_record(data: bytes) -> None:
    if not data:
        return
    key, value = data[1 : 1 + data[0]], data[1 + data[0] :]
    try:
        decode_record(key, value or None)
    except CorruptMessage:
        return


def _share_records(rng: random.Random) -> list[bytes]:
    key = SharePartitionKey("g", _uuid(rng), 1)
    batches = (StateBatch(3, 9, 2, 1), StateBatch(12, 12, 0, 4), StateBatch(13, 20, 4, 5))
    records = (
        SnapshotRecord(key, None),
        SnapshotRecord(key, Snapshot(1, 2, 3, 3, 9, 4, 5, batches)),
        UpdateRecord(key, Update(1, 3, -1, 2, batches[:1])),
    )
    encoded = [encode_share_state(record) for record in records]
    return [bytes((len(stored_key),)) + stored_key + (value or b"") for stored_key, value in encoded]


def _read_share_record(data: bytes) -> None:
    if not data:
        return
    key, value = data[1 : 1 + data[0]], data[1 + data[0] :]
    try:
        record = decode_share_state(key, value or None)
    except CorruptMessage:
        return
    shard = ShareShard(ShareCoordinatorSettings(), lambda _: True)
    if record is not None:
        shard.replay(record)


def _transaction_records(rng: random.Random) -> list[bytes]:
    partitions = frozenset(TopicPartition(topic, index) for topic in ("t", "u") for index in range(3))
    transactions = (
        Transaction(5, 0, 60_000),
        Transaction(5, 1, 60_000, STATES[rng.randrange(1, 6)], partitions, 7, 8, 5, rng.getrandbits(60), 2),
        None,
    )
    encoded = [
        encode_transaction(TransactionRecord("x", transaction, version))
        for transaction in transactions
        for version in (0, 1)
    ]
    return [bytes((len(key),)) + key + (value or b"") for key, value in encoded]


def _read_transaction_record(data: bytes) -> None:
    if not data:
        return
    key, value = data[1 : 1 + data[0]], data[1 + data[0] :]
    try:
        record = decode_transaction(key, value or None)
    except CorruptMessage:
        return
    if record is not None:
        encode_transaction(record)


def _metadata_records(rng: random.Random) -> list[bytes]:
    messages = RandomMessages(rng)
    return [
        encode_metadata_record(messages.entity(record_type)) for record_type in RECORD_TYPES.values() for _ in range(5)
    ]


def _read_metadata_record(data: bytes) -> None:
    try:
        record = decode_metadata_record(data)
    except CorruptMessage:
        return
    if not isinstance(record, UnknownRecord):
        encode_metadata_record(record)


def _voters(rng: random.Random) -> VoterSet:
    return VoterSet((Voter(ReplicaKey(1, _uuid(rng)), (VoterEndpoint("CONTROLLER", "localhost", 9093),)),))


def _snapshots(rng: random.Random) -> list[bytes]:
    return [
        b"".join(encode_snapshot(records, epoch=3, voters=_voters(rng), last_timestamp=5, now_ms=7))
        for records in ((), (b"record",), tuple(rng.randbytes(30) for _ in range(20)))
    ]


def _read_snapshot(data: bytes) -> None:
    try:
        decode_snapshot(data)
    except KafkaError:
        return


def _quorum_states(rng: random.Random) -> list[bytes]:
    states = (ElectionState(0), ElectionState(5, 1), ElectionState(5, -1, ReplicaKey(2, _uuid(rng))))
    older = b'{"leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[],"data_version":0}'
    return [*map(encode_election_state, states), older]


def _read_quorum_state(data: bytes) -> None:
    try:
        state = decode_election_state(data)
    except CorruptMessage:
        return
    encode_election_state(state)


TARGETS: Final = (
    Target("group_records", _group_records, _read_group_record),
    Target("transaction_records", _transaction_records, _read_transaction_record),
    Target("share_records", _share_records, _read_share_record),
    Target("metadata_records", _metadata_records, _read_metadata_record),
    Target("metadata_snapshots", _snapshots, _read_snapshot),
    Target("quorum_state", _quorum_states, _read_quorum_state),
)
