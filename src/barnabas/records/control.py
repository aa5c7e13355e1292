"""Control records: records that brokers write for themselves, in control batches of one type each.

A control record's key is its version (i16) and type (i16). The values are messages, declared in the rooms that write
them. Unknown types are skipped.

A transaction ends, in each partition that it wrote to, with a marker: a control batch of its producer with one record.
Its type is COMMIT or ABORT, its value is version (i16) and coordinator epoch (i32). Values of later versions begin like
version 0.
"""

from enum import IntEnum
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from barnabas.records.batch import HEADER_SIZE, Batch, read_batch
from barnabas.records.record import Record, build_batch, decode_body
from barnabas.wire.errors import InvalidRecord

_KEY_STRUCT = Struct(">hh")
_KEY_VERSION = 0
_MARKER_STRUCT = Struct(">hi")
_MARKER_VERSION = 0


class ControlType(IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTransactionMarker(NamedTuple):
    commit: bool
    coordinator_epoch: int


def encode_control_key(control_type: ControlType) -> bytes:
    return _KEY_STRUCT.pack(_KEY_VERSION, control_type)


def decode_control_key(key: bytes | None) -> ControlType | None:
    """None: a newer type, to be skipped. Later versions of the key begin like this one."""
    if key is None or len(key) < _KEY_STRUCT.size:
        raise InvalidRecord(f"a control record's key is version and type, not {key!r}")
    version, number = _KEY_STRUCT.unpack_from(key)
    if version < 0:
        raise InvalidRecord(f"a control record's key has version {version}")
    try:
        return ControlType(number)
    except ValueError:
        return None


def decode_marker_value(value: bytes | None) -> int:
    """The coordinator epoch."""
    if value is None or len(value) < _MARKER_STRUCT.size:
        raise InvalidRecord(f"a transaction marker's value is version and coordinator epoch, not {value!r}")
    version, coordinator_epoch = _MARKER_STRUCT.unpack_from(value)
    if version < 0:
        raise InvalidRecord(f"a transaction marker has version {version}")
    return int(coordinator_epoch)


@lru_cache(maxsize=16)
def marker_batch(
    marker: EndTransactionMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    now_ms: int,
    log_append_time: bool = False,
) -> Batch:
    """The control batch that ends a producer's transaction. It is the same in every partition, so it is cached."""
    key = encode_control_key(ControlType.COMMIT if marker.commit else ControlType.ABORT)
    value = _MARKER_STRUCT.pack(_MARKER_VERSION, marker.coordinator_epoch)
    return read_batch(
        build_batch(
            [Record(0, now_ms, key, value)],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transactional=True,
            control=True,
            log_append_time=now_ms if log_append_time else None,
        )
    )


def read_marker(batch: Batch) -> EndTransactionMarker | None:
    """The marker in a producer's control batch; None if compaction has emptied the batch, or it has another type."""
    records = decode_body(batch.header, bytes(batch.data[HEADER_SIZE:]))
    if not records:
        return None
    control_type = decode_control_key(records[0].key)
    if control_type not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    return EndTransactionMarker(control_type is ControlType.COMMIT, decode_marker_value(records[0].value))
