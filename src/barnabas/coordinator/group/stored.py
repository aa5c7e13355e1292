"""The records of __consumer_offsets, byte for byte Apache Kafka's.

Each type of group, and the offsets, have their formats in their packages. Records of other types belong to types of
groups that are not supported, and are skipped.
"""

from collections.abc import Sequence
from typing import Any, Final

from barnabas.coordinator.core.ports import KeyValue
from barnabas.coordinator.group.classic.stored import CLASSIC_FORMATS
from barnabas.coordinator.group.common.record_format import RecordFormat, StateRecord
from barnabas.coordinator.group.consumer.stored import CONSUMER_FORMATS
from barnabas.coordinator.group.offsets.stored import (
    LEGACY_OFFSET_COMMIT,
    OFFSET_COMMIT,
    OffsetRecord,
    TopicOffsets,
    decode_offset,
    encode_offset,
    encode_offsets,
)
from barnabas.coordinator.group.share.stored import SHARE_FORMATS
from barnabas.wire.errors import CorruptMessage

LoggedGroupRecord = OffsetRecord | StateRecord
"""One record of the log."""
GroupCoordinatorRecord = LoggedGroupRecord | TopicOffsets

_FORMATS: Final = (*CLASSIC_FORMATS, *CONSUMER_FORMATS, *SHARE_FORMATS)
_BY_TYPE: Final[dict[int, RecordFormat]] = {each.type_id: each for each in _FORMATS}
_BY_KEY: Final[dict[type[Any], RecordFormat]] = {each.key: each for each in _FORMATS}


def encode_records(records: Sequence[GroupCoordinatorRecord]) -> list[KeyValue]:
    pairs: list[KeyValue] = []
    for record in records:
        if isinstance(record, TopicOffsets):
            pairs += encode_offsets(record)
        else:
            pairs.append(encode_record(record))
    return pairs


def encode_record(record: LoggedGroupRecord) -> KeyValue:
    if isinstance(record, OffsetRecord):
        return encode_offset(record)
    return _BY_KEY[type(record.key)].encode(record)


def decode_record(key: bytes, value: bytes | None) -> LoggedGroupRecord | None:
    if len(key) < 2:
        raise CorruptMessage(f"a coordinator's record has {len(key)} bytes where its type should be")
    kind = int.from_bytes(key[:2], "big", signed=True)
    if kind in (LEGACY_OFFSET_COMMIT, OFFSET_COMMIT):
        return decode_offset(key, value)
    known = _BY_TYPE.get(kind)
    return None if known is None else known.decode(key, value)
