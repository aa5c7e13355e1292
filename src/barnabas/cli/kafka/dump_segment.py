"""`kafka-dump-log` for segments and snapshots: a line per batch, and a line per record where that is asked for."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.cli.kafka.dump_decoders import Parse
from barnabas.cli.kafka.record_json import compact, to_json
from barnabas.cli.segment_reader import DECOMPRESSED_BYTES_MAX, SegmentReader
from barnabas.records.batch import Batch, BatchHeader
from barnabas.records.control import ControlType, decode_control_key, decode_marker_value
from barnabas.records.record import Record, decode_records
from barnabas.wire.codec import decode
from barnabas.wire.errors import KafkaError

_CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_SEQUENCES = 1 << 31


class SegmentDump(NamedTuple):
    """How to show a segment."""

    deep: bool
    print_data: bool
    skip_record_metadata: bool
    parse: Parse
    max_bytes: int


def dump_segment(path: str, how: SegmentDump) -> list[tuple[int, int]]:
    """Print it; the places where an offset is not the next one after the one before."""
    reader = SegmentReader(path, max_bytes=how.max_bytes)
    gaps = []
    last_offset: int | None = None
    for position, batch, is_valid in reader.batches():
        print(_batch_line(batch.header, position, is_valid))
        for record in _records(batch, path) if how.deep else ():
            if last_offset is not None and record.offset != last_offset + 1:
                gaps.append((last_offset, record.offset))
            last_offset = record.offset
            print(_record_line(batch.header, record, how))
    if reader.trailing_bytes and reader.size == os.path.getsize(path):
        print(f"Found {reader.trailing_bytes} invalid bytes at the end of {os.path.basename(path)}")
    return gaps


def _records(batch: Batch, path: str) -> Iterator[Record]:
    try:
        yield from decode_records(batch, max_bytes=DECOMPRESSED_BYTES_MAX)
    except KafkaError as error:
        print(f"| the records of this batch cannot be read: {error}")


def _batch_line(header: BatchHeader, position: int, is_valid: bool) -> str:
    last_sequence = header.last_sequence if header.base_sequence >= 0 else -1
    horizon = f"OptionalLong[{header.base_timestamp}]" if header.has_delete_horizon else "OptionalLong.empty"
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count} "
        f"baseSequence: {header.base_sequence} lastSequence: {last_sequence} "
        f"producerId: {header.producer_id} producerEpoch: {header.producer_epoch} "
        f"partitionLeaderEpoch: {header.leader_epoch} isTransactional: {_lower(header.is_transactional)} "
        f"isControl: {_lower(header.is_control)} deleteHorizonMs: {horizon} position: {position} "
        f"{_timestamp_type(header)}: {header.max_timestamp} size: {header.size} magic: {header.magic} "
        f"compresscodec: {_CODECS.get(header.codec, str(header.codec))} crc: {header.crc} isvalid: {_lower(is_valid)}"
    )


def _record_line(header: BatchHeader, record: Record, how: SegmentDump) -> str:
    parts = []
    if not how.skip_record_metadata:
        sequence = -1
        if header.base_sequence >= 0:
            sequence = (header.base_sequence + record.offset - header.base_offset) % _SEQUENCES
        parts.append(
            f"offset: {record.offset} {_timestamp_type(header)}: {record.timestamp} keySize: {_size(record.key)} "
            f"valueSize: {_size(record.value)} sequence: {sequence} "
            f"headerKeys: [{','.join(key for key, _ in record.headers)}]"
        )
        if header.is_control:
            parts.append(_control(record))
    if how.print_data and not header.is_control:
        key, payload = how.parse(record)
        parts += [f"key: {key}"] if key is not None else []
        parts += [f"payload: {payload}"] if payload is not None else []
    return "| " + " ".join(parts)


def _control(record: Record) -> str:
    from barnabas.raft.core import control_records as entities

    kind = decode_control_key(record.key)
    value = record.value or b""
    match kind:
        case ControlType.ABORT | ControlType.COMMIT:
            return f"endTxnMarker: {kind.name} coordinatorEpoch: {decode_marker_value(record.value)}"
        case ControlType.LEADER_CHANGE:
            return f"LeaderChange: {_entity(entities.LeaderChangeMessage, value)}"
        case ControlType.SNAPSHOT_HEADER:
            return f"SnapshotHeader {_entity(entities.SnapshotHeaderRecord, value)}"
        case ControlType.SNAPSHOT_FOOTER:
            return f"SnapshotFooter {_entity(entities.SnapshotFooterRecord, value)}"
        case ControlType.KRAFT_VERSION:
            return f"KRaftVersion {_entity(entities.KRaftVersionRecord, value)}"
        case ControlType.KRAFT_VOTERS:
            return f"KRaftVoters {_entity(entities.VotersRecord, value)}"
        case _:
            number = int.from_bytes((record.key or b"")[2:4], "big")
            return f"controlType: UNKNOWN({number})"


def _entity(entity_type: type, value: bytes) -> str:
    return compact(to_json(decode(entity_type, value)))


def _timestamp_type(header: BatchHeader) -> str:
    return "LogAppendTime" if header.is_log_append_time else "CreateTime"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _lower(flag: bool) -> str:
    return str(flag).lower()
