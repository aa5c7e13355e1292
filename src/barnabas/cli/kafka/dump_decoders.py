"""What `kafka-dump-log` makes of keys and values: text, and the records of the internal topics."""

import struct
from collections.abc import Callable, Mapping
from typing import Any

from barnabas.cli.kafka.consumer_protocol import decode_assignment, decode_subscription
from barnabas.cli.kafka.record_json import compact, enum_name, to_json, uuid_json
from barnabas.records.record import Record
from barnabas.wire.codec import decode
from barnabas.wire.errors import KafkaError

Parse = Callable[[Record], tuple[str | None, str | None]]
"""The key and the payload as text, each None if there is none."""

_DECODERS: dict[str, Callable[[bytes], str]] = {
    "StringDecoder": lambda data: data.decode(errors="replace"),
    "DefaultDecoder": lambda data: data.hex(),
    "IntegerDecoder": lambda data: str(struct.unpack(">i", data)[0]),
    "LongDecoder": lambda data: str(struct.unpack(">q", data)[0]),
}
DECODER_NAMES = tuple(_DECODERS)
_INT16_BYTES = 2

Entities = Mapping[int, Mapping[int, type[Any]]]
"""By type of the record and version of the value."""


def is_decoder(name: str) -> bool:
    return name.rpartition(".")[2] in _DECODERS


def plain_parser(key_decoder: str, value_decoder: str) -> Parse:
    decode_key, decode_value = (_DECODERS[name.rpartition(".")[2]] for name in (key_decoder, value_decoder))

    def parse(record: Record) -> tuple[str | None, str | None]:
        return (
            None if record.key is None else decode_key(record.key),
            None if record.value is None else decode_value(record.value),
        )

    return parse


def parse_group_record(record: Record) -> tuple[str | None, str | None]:
    from barnabas.coordinator.group.classic.stored import StoredGroup
    from barnabas.coordinator.group.offsets.stored import OffsetRecord
    from barnabas.coordinator.group.stored import decode_record

    if record.key is None:
        return f"Error at offset {record.offset}, skipping. the record has no key", None
    kind = int.from_bytes(record.key[:2], "big")
    try:
        decoded = decode_record(record.key, record.value)
    except KafkaError as error:
        return f"Error at offset {record.offset}, skipping. {error}", None
    if decoded is None:
        return f"Unknown record type {kind} at offset {record.offset}, skipping.", None
    if isinstance(decoded, OffsetRecord):
        key: dict[str, Any] = {"group": decoded.group_id, "topic": decoded.topic, "partition": decoded.partition}
    else:
        key = to_json(decoded.key)
    shown_key = compact({"type": str(kind), "data": key})
    if record.value is None or decoded.value is None:
        return shown_key, "<DELETE>"
    version = int.from_bytes(record.value[:2], "big")
    if isinstance(decoded, OffsetRecord):
        data = _offset_json(decoded.value, version)
    else:
        data = _group_json(decoded.value) if isinstance(decoded.value, StoredGroup) else _state_json(decoded.value)
    return shown_key, compact({"version": str(version), "data": data})


def parse_transaction_record(record: Record) -> tuple[str | None, str | None]:
    from barnabas.coordinator.txn.stored import VALUE_VERSIONS, TransactionKey

    return _parse_entities(record, {0: TransactionKey}, {0: VALUE_VERSIONS})


def parse_share_state_record(record: Record) -> tuple[str | None, str | None]:
    from barnabas.coordinator.share import stored

    keys = {stored.SHARE_SNAPSHOT: stored.ShareKey, stored.SHARE_UPDATE: stored.ShareKey}
    values: Entities = {
        stored.SHARE_SNAPSHOT: {0: stored.ShareSnapshotValue},
        stored.SHARE_UPDATE: {0: stored.ShareUpdateValue},
    }
    return _parse_entities(record, keys, values)


def _parse_entities(record: Record, keys: Mapping[int, type[Any]], values: Entities) -> tuple[str | None, str | None]:
    """A coordinator's record: its key is a type and an entity, its value a version and an entity, or none."""
    if record.key is None or len(record.key) < _INT16_BYTES:
        return f"Error at offset {record.offset}, skipping. the record has no key", None
    kind = int.from_bytes(record.key[:_INT16_BYTES], "big")
    if kind not in keys:
        return f"Unknown record type {kind} at offset {record.offset}, skipping.", None
    try:
        key: Any = decode(keys[kind], record.key, _INT16_BYTES)
        shown_key = compact({"type": str(kind), "data": to_json(key)})
        if record.value is None:
            return shown_key, "<DELETE>"
        version = int.from_bytes(record.value[:_INT16_BYTES], "big")
        if version not in values[kind]:
            return f"Error at offset {record.offset}, skipping. version {version} of the value is unknown", None
        value: Any = decode(values[kind][version], record.value, _INT16_BYTES)
    except KafkaError as error:
        return f"Error at offset {record.offset}, skipping. {error}", None
    return shown_key, compact({"version": str(version), "data": to_json(value)})


def parse_metadata_record(record: Record) -> tuple[str | None, str | None]:
    from barnabas.metadata.records.codec import UnknownRecord, decode_metadata_record

    if record.value is None:
        return None, "Error: no value"
    try:
        decoded = decode_metadata_record(record.value)
    except KafkaError as error:
        return None, f"Error at {record.offset}, skipping. {error}"
    if isinstance(decoded, UnknownRecord):
        return None, f"Error at {record.offset}, skipping. record type {decoded.api_key} is unknown"
    # frame version, type and version are one byte each as long as they are below 128
    shown = {"type": enum_name(type(decoded).__name__), "version": record.value[2], "data": to_json(decoded)}
    return None, compact(shown)


def _offset_json(value: Any, version: int) -> dict[str, Any]:
    found = {"offset": value.offset}
    if version >= 3:
        found["leaderEpoch"] = value.leader_epoch
    found |= {"metadata": value.metadata, "commitTimestamp": value.commit_timestamp_ms}
    if version == 1:
        found["expireTimestamp"] = value.expire_timestamp_ms
    if version >= 4 and value.topic_id is not None:
        found["topicId"] = uuid_json(value.topic_id)
    return found


def _state_json(value: Any) -> dict[str, Any]:
    from barnabas.coordinator.group.consumer.stored import MemberMetadata

    if not isinstance(value, MemberMetadata):
        return dict(to_json(value))
    return {**to_json(value.facts), "classicMemberMetadata": value.classic and to_json(value.classic)}


def _group_json(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = to_json(value)
    if value.protocol_type == "consumer":
        for shown, member in zip(found["members"], value.members, strict=True):
            shown["subscription"] = _subscription_json(member.subscription, shown["subscription"])
            shown["assignment"] = _assignment_json(member.assignment, shown["assignment"])
    return found


def _subscription_json(content: bytes, otherwise: Any) -> Any:
    decoded = decode_subscription(content)
    if decoded is None:
        return otherwise
    found: dict[str, Any] = {"topics": list(decoded.topics), "userData": to_json(decoded.user_data)}
    if decoded.version >= 1:
        found["ownedPartitions"] = [{"topic": topic, "partitions": list(indexes)} for topic, indexes in decoded.owned]
    if decoded.version >= 2:
        found["generationId"] = decoded.generation_id
    if decoded.version >= 3:
        found["rackId"] = decoded.rack_id
    return found


def _assignment_json(content: bytes, otherwise: Any) -> Any:
    decoded = decode_assignment(content)
    if decoded is None:
        return otherwise
    partitions = [{"topic": topic, "partitions": list(indexes)} for topic, indexes in decoded.partitions]
    return {"assignedPartitions": partitions, "userData": to_json(decoded.user_data)}
