"""Snapshots: `<end offset>-<epoch>.checkpoint`, the state before that offset as a file of batches.

The first batch is a control batch with a header and the voters. Batches of records follow, then a control batch with
the footer; without it the snapshot is incomplete. Offsets within the file start at 0.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from barnabas.raft.core.control_records import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    control_record,
    quorum_records,
    read_control,
    read_voters,
)
from barnabas.raft.core.voters import VoterSet
from barnabas.records.batch import crc_is_valid, read_header, split_batches
from barnabas.records.control import ControlType, decode_control_key
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.wire.errors import CorruptMessage, KafkaError

BATCH_BYTES_TARGET: Final = 64 * 1024
"""Small enough that building one does not block the loop."""
DECOMPRESSED_BYTES_MAX: Final = 64 * 1024 * 1024
"""Kafka's raft writes batches of 8 MB at most, uncompressed."""

_NAME: Final = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")


class SnapshotId(NamedTuple):
    """Ordered by offset, then epoch: the greatest is the newest."""

    end_offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}.checkpoint"


BOOTSTRAP: Final = SnapshotId(0, 0)
"""Written when a directory is formatted; it contains only the voters."""


class Snapshot(NamedTuple):
    voters: VoterSet | None
    """None in a snapshot of kraft.version 0, whose voters are in the configuration."""
    last_timestamp: int
    records: list[bytes]
    kraft_version: int = 0


def parse_snapshot_name(name: str) -> SnapshotId | None:
    match = _NAME.fullmatch(name)
    return None if match is None else SnapshotId(int(match[1]), int(match[2]))


def encode_snapshot(
    records: Iterable[bytes], *, epoch: int, voters: VoterSet | None, last_timestamp: int, now_ms: int
) -> Iterator[bytes]:
    """The content of the file, batch by batch. `voters`: None with kraft.version 0."""
    offset = 0

    def batch(content: Sequence[Record], *, control: bool) -> bytes:
        nonlocal offset
        built = build_batch(content, base_offset=offset, leader_epoch=epoch, control=control)
        offset += len(content)
        return built

    header = SnapshotHeaderRecord(last_contained_log_timestamp=last_timestamp)
    opening = (header,) if voters is None else (header, *quorum_records(voters))
    yield batch([control_record(message, timestamp=now_ms) for message in opening], control=True)
    waiting: list[Record] = []
    size = 0
    for value in records:
        waiting.append(Record(timestamp=now_ms, value=value))
        size += len(value)
        if size >= BATCH_BYTES_TARGET:
            yield batch(waiting, control=False)
            waiting, size = [], 0
    if waiting:
        yield batch(waiting, control=False)
    yield batch([control_record(SnapshotFooterRecord(), timestamp=now_ms)], control=True)


def decode_snapshot(content: bytes) -> Snapshot:
    """CorruptMessage says where, and what is wrong there."""
    voters: VoterSet | None = None
    last_timestamp = -1
    kraft_version = 0
    values: list[bytes] = []
    kinds: list[ControlType | None] = []
    position = next_offset = 0
    try:
        epoch = read_header(content).leader_epoch
        for batch in split_batches(content):
            header = batch.header
            if not crc_is_valid(batch):
                raise CorruptMessage("the CRC of the batch is wrong")
            if header.base_offset != next_offset or header.leader_epoch != epoch:
                raise CorruptMessage(f"offset {header.base_offset}, epoch {header.leader_epoch} are not what follows")
            next_offset = header.next_offset
            for record in decode_records(batch, max_bytes=DECOMPRESSED_BYTES_MAX):
                if not header.is_control:
                    values.append(record.value or b"")
                    continue
                kind = decode_control_key(record.key)
                kinds.append(kind)
                if kind == ControlType.KRAFT_VOTERS:
                    voters = read_voters(record)
                elif kind == ControlType.KRAFT_VERSION:
                    kraft_version = read_control(KRaftVersionRecord, record).k_raft_version
                elif kind == ControlType.SNAPSHOT_HEADER:
                    last_timestamp = read_control(SnapshotHeaderRecord, record).last_contained_log_timestamp
            position += len(batch.data)
        if not kinds or kinds[0] != ControlType.SNAPSHOT_HEADER:
            raise CorruptMessage("it does not begin with a snapshot's header")
        if kinds[-1] != ControlType.SNAPSHOT_FOOTER or position < len(content):
            raise CorruptMessage("a snapshot's footer should end it there")
    except KafkaError as error:
        raise CorruptMessage(f"byte {position}: {error}") from error
    return Snapshot(voters, last_timestamp, values, kraft_version)
