"""The segments below a path, and what is in them, as rows for tables and JSON."""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.cli.errors import CommandFailed
from barnabas.cli.segment_reader import DECOMPRESSED_BYTES_MAX, SegmentReader
from barnabas.log.file_names import LOG, parse_file_name
from barnabas.records.control import ControlType, decode_control_key, decode_marker_value
from barnabas.records.record import Record, decode_records
from barnabas.wire.errors import InvalidRecord, KafkaError

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

Row = dict[str, object]


class SegmentPath(NamedTuple):
    partition: str
    """The name of its directory: topic-partition."""
    base_offset: int
    path: str
    size: int


def find_segments(path: str) -> list[SegmentPath]:
    """Of a data directory, a partition's directory or one file; by partition and offset."""
    if os.path.isfile(path):
        found = _segment(path)
        if found is None:
            raise CommandFailed(f"{path} is not a segment", hint="a segment is called 00000000000000000000.log")
        return [found]
    if not os.path.isdir(path):
        raise CommandFailed(
            f"{path} does not exist", hint="give a data directory, a partition's directory or a segment"
        )
    directories = [path, *(entry.path for entry in os.scandir(path) if entry.is_dir())]
    files = [entry.path for directory in directories for entry in os.scandir(directory) if entry.is_file()]
    return sorted(segment for segment in map(_segment, files) if segment is not None)


def batch_rows(segments: Sequence[SegmentPath], from_offset: int) -> Iterator[Row]:
    for segment in segments:
        for position, batch, is_valid in SegmentReader(segment.path).batches():
            header = batch.header
            if header.last_offset < from_offset:
                continue
            yield {
                "partition": segment.partition,
                "position": position,
                "base_offset": header.base_offset,
                "last_offset": header.last_offset,
                "records": header.record_count,
                "bytes": header.size,
                "codec": _CODECS[header.codec] if header.codec < len(_CODECS) else str(header.codec),
                "epoch": header.leader_epoch,
                "producer_id": header.producer_id,
                "base_sequence": header.base_sequence,
                "max_timestamp": header.max_timestamp,
                "control": header.is_control,
                "transactional": header.is_transactional,
                "valid": "yes" if is_valid else "no",
            }


def record_rows(segments: Sequence[SegmentPath], from_offset: int) -> Iterator[Row]:
    for segment in segments:
        for position, batch, _ in SegmentReader(segment.path).batches():
            if batch.header.last_offset < from_offset:
                continue
            try:
                records = decode_records(batch, max_bytes=DECOMPRESSED_BYTES_MAX)
            except KafkaError as error:
                raise CommandFailed(
                    f"{segment.path} at byte {position}: {error}", hint=f"run barnabas log verify {segment.path}"
                ) from error
            for record in records:
                if record.offset >= from_offset:
                    key, value = _shown(record, is_control=batch.header.is_control)
                    yield {
                        "partition": segment.partition,
                        "offset": record.offset,
                        "timestamp": record.timestamp,
                        "key": key,
                        "value": value,
                        "headers": [f"{key}={_text(value)}" for key, value in record.headers],
                    }


def _segment(path: str) -> SegmentPath | None:
    name = parse_file_name(os.path.basename(path))
    if name is None or name.kind != LOG or name.suffix:
        return None
    partition = os.path.basename(os.path.dirname(os.path.abspath(path)))
    return SegmentPath(partition, name.offset, path, os.path.getsize(path))


def _shown(record: Record, *, is_control: bool) -> tuple[str | None, str | None]:
    if is_control:
        try:
            kind = decode_control_key(record.key)
            if kind in (ControlType.ABORT, ControlType.COMMIT):
                return kind.name, f"coordinator epoch {decode_marker_value(record.value)}"
            if kind is not None:
                return kind.name, _text(record.value)
        except InvalidRecord:
            pass  # then its bytes are all there is to show
    return _text(record.key), _text(record.value)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")
