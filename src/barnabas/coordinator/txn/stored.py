"""The records of __transaction_state, byte for byte Apache Kafka's.

Key: version 0 (int16), then the transactional id. Value: version (int16), then the body; none is a tombstone. Version 1
has tagged fields for what transaction.version 1 and 2 add; below that version 0 is written. Both are read.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from barnabas.coordinator.core.ports import KeyValue
from barnabas.coordinator.txn.states import EMPTY, STATE_NUMBERS, STATES
from barnabas.coordinator.txn.transaction import NO_PRODUCER_ID, Transaction
from barnabas.model import TopicPartition
from barnabas.wire.codec import decode, encode
from barnabas.wire.errors import CorruptMessage
from barnabas.wire.schema import Message, array, int8, int16, int32, int64, string

TRANSACTIONAL_ID_BYTES_MAX: Final = 2**15 - 1
"""The longest that fits into a key. Requests of later versions can carry longer ones."""


class TransactionRecord(NamedTuple):
    transactional_id: str
    value: Transaction | None
    version: int = 1
    """The version to write the value in."""


class TransactionKey(Message, versions=(0, 0), flexible_since=1):
    transactional_id: str = string()


class _PartitionsV0(Message, versions=(0, 0), flexible_since=1):
    topic: str = string()
    partition_ids: tuple[int, ...] = array("int32")


class _PartitionsV1(Message, versions=(1, 1), flexible_since=0):
    topic: str = string()
    partition_ids: tuple[int, ...] = array("int32")


class _ValueV0(Message, versions=(0, 0), flexible_since=1):
    producer_id: int = int64()
    producer_epoch: int = int16()
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    transaction_partitions: tuple[_PartitionsV0, ...] | None = array(_PartitionsV0, nullable_since=0)
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()


class _ValueV1(Message, versions=(1, 1), flexible_since=0):
    producer_id: int = int64()
    previous_producer_id: int = int64(-1, tag=0)
    next_producer_id: int = int64(-1, tag=1)
    producer_epoch: int = int16()
    next_producer_epoch: int = int16(-1, tag=3)
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    transaction_partitions: tuple[_PartitionsV1, ...] | None = array(_PartitionsV1, nullable_since=0)
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()
    client_transaction_version: int = int16(0, tag=2)


VALUE_VERSIONS: Final[dict[int, type[Any]]] = {0: _ValueV0, 1: _ValueV1}
_VERSION_BYTES: Final = {version: version.to_bytes(2, "big") for version in VALUE_VERSIONS}


def value_version(transaction_version: int) -> int:
    """The version to write at a level of transaction.version."""
    return 1 if transaction_version >= 1 else 0


def encode_record(record: TransactionRecord) -> KeyValue:
    key = _VERSION_BYTES[0] + encode(TransactionKey(transactional_id=record.transactional_id))
    value = record.value
    if value is None:
        return KeyValue(key, None)
    body = _body_v1(value) if record.version else _body_v0(value)
    return KeyValue(key, _VERSION_BYTES[record.version] + encode(body))


def _body_v0(value: Transaction) -> _ValueV0:
    return _ValueV0(
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        transaction_timeout_ms=value.timeout_ms,
        transaction_status=STATE_NUMBERS[value.state],
        transaction_partitions=None
        if value.state is EMPTY
        else tuple(_PartitionsV0(topic=topic, partition_ids=ids) for topic, ids in by_topic(value.partitions)),
        transaction_last_update_timestamp_ms=value.last_update_ms,
        transaction_start_timestamp_ms=value.start_ms,
    )


def _body_v1(value: Transaction) -> _ValueV1:
    return _ValueV1(
        producer_id=value.producer_id,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        producer_epoch=value.producer_epoch,
        transaction_timeout_ms=value.timeout_ms,
        transaction_status=STATE_NUMBERS[value.state],
        transaction_partitions=None
        if value.state is EMPTY
        else tuple(_PartitionsV1(topic=topic, partition_ids=ids) for topic, ids in by_topic(value.partitions)),
        transaction_last_update_timestamp_ms=value.last_update_ms,
        transaction_start_timestamp_ms=value.start_ms,
        client_transaction_version=value.client_version,
    )


def by_topic(partitions: Iterable[TopicPartition]) -> Iterable[tuple[str, tuple[int, ...]]]:
    indexes: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        indexes.setdefault(topic, []).append(index)
    return ((topic, tuple(ids)) for topic, ids in indexes.items())


def decode_record(key: bytes, value: bytes | None) -> TransactionRecord | None:
    if _int16(key) != 0:
        return None
    transactional_id = decode(TransactionKey, key, 2).transactional_id
    if value is None:
        return TransactionRecord(transactional_id, None)
    version = _int16(value)
    if version not in VALUE_VERSIONS:
        raise CorruptMessage(f"a transaction of version {version} is stored; versions 0 and 1 are known")
    stored = decode(VALUE_VERSIONS[version], value, 2)
    if not 0 <= stored.transaction_status < len(STATES):
        raise CorruptMessage(f"a transaction is stored in state {stored.transaction_status}")
    return TransactionRecord(
        transactional_id,
        Transaction(
            producer_id=stored.producer_id,
            producer_epoch=stored.producer_epoch,
            timeout_ms=stored.transaction_timeout_ms,
            state=STATES[stored.transaction_status],
            partitions=frozenset(
                TopicPartition(topic.topic, index)
                for topic in stored.transaction_partitions or ()
                for index in topic.partition_ids
            ),
            start_ms=stored.transaction_start_timestamp_ms,
            last_update_ms=stored.transaction_last_update_timestamp_ms,
            previous_producer_id=getattr(stored, "previous_producer_id", NO_PRODUCER_ID),
            next_producer_id=getattr(stored, "next_producer_id", NO_PRODUCER_ID),
            client_version=getattr(stored, "client_transaction_version", 0),
        ),
        version,
    )


def _int16(data: bytes) -> int:
    if len(data) < 2:
        raise CorruptMessage(f"a coordinator's record has {len(data)} bytes where its version should be")
    return int.from_bytes(data[:2], "big", signed=True)
