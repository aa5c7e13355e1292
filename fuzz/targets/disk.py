"""The log's files: segments, indexes, checkpoints, producer snapshots, the small property files."""

import random
import uuid
from contextlib import suppress
from typing import Final

from barnabas.log.batch_scan import PlacedBatch, scan_batches, scan_headers
from barnabas.log.checkpoint_file import CorruptCheckpoint, decode_offsets, encode_offsets
from barnabas.log.epoch_cache import FILE_NAME as EPOCHS_NAME
from barnabas.log.epoch_cache import EpochCache
from barnabas.log.index_file import CorruptIndex
from barnabas.log.meta_properties import FILE_NAME as META_NAME
from barnabas.log.meta_properties import (
    CorruptMetaProperties,
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from barnabas.log.offset_index import OffsetIndex
from barnabas.log.partition_metadata import FILE_NAME as TOPIC_ID_NAME
from barnabas.log.partition_metadata import read_topic_id, write_topic_id
from barnabas.log.producer_rebuild import replay_batch
from barnabas.log.producer_snapshot import CorruptSnapshot, decode_snapshot, encode_snapshot
from barnabas.log.producer_state import BatchMetadata, ProducerEntry, ProducerState
from barnabas.log.time_index import TimeIndex
from barnabas.log.transaction_index import AbortedTransaction, TransactionIndex
from barnabas.model import TopicPartition
from barnabas.model.properties import NotProperties, parse_properties
from barnabas.records.batch import with_offsets
from barnabas.records.control import EndTransactionMarker, marker_batch
from barnabas.records.record import Record, build_batch
from barnabas.testing.disk import SimulatedDisk
from barnabas.wire.errors import CorruptMessage
from fuzz.target import Target

_DIRECTORY: Final = "/log"


def _disk_with(name: str, content: bytes) -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_dirs(_DIRECTORY)
    disk.replace_file(f"{_DIRECTORY}/{name}", content)
    return disk


def _segments(rng: random.Random) -> list[bytes]:
    segments = []
    for _ in range(20):
        offset = rng.choice((0, 5, 2**40))
        batches = []
        for _ in range(rng.randrange(1, 6)):
            records = [Record(timestamp=offset, value=rng.randbytes(rng.randrange(50)))] * rng.randrange(1, 4)
            transactional = rng.randrange(3) == 0
            batches.append(
                build_batch(
                    records,
                    base_offset=offset,
                    leader_epoch=rng.randrange(3),
                    producer_id=rng.randrange(3) if transactional else -1,
                    transactional=transactional,
                )
            )
            if transactional and rng.randrange(2):
                marker = EndTransactionMarker(rng.randrange(2) == 0, rng.randrange(5))
                end = marker_batch(marker, producer_id=rng.randrange(3), producer_epoch=0, now_ms=offset)
                batches.append(b"".join(with_offsets(end, offset + len(records), 0)))
                offset += 1
            offset += len(records) + rng.randrange(3)
        segments.append(b"".join(batches) + rng.choice((b"", bytes(70), b"torn")))
    return segments


def _scan(data: bytes) -> None:
    """Batches and damage cover every byte once, and offsets go up."""
    file = _disk_with("segment", data).open(f"{_DIRECTORY}/segment")
    with suppress(CorruptMessage):
        for _ in scan_headers(file, 0, len(data)):
            pass
    position = next_offset = 0
    for found in scan_batches(file, 0, len(data), next_offset=0, offset_limit=2**63):
        assert found.position == position
        position = found.end
        if isinstance(found, PlacedBatch):
            assert found.batch.header.base_offset >= next_offset
            next_offset = found.batch.header.next_offset
        else:
            assert found.first_offset == next_offset
    assert position == len(data)


def _replay(data: bytes) -> None:
    """Producer state and aborted transactions: both can be rebuilt from any log."""
    file = _disk_with("segment", data).open(f"{_DIRECTORY}/segment")
    state, index = ProducerState(), TransactionIndex()
    for found in scan_batches(file, 0, len(data), next_offset=0, offset_limit=2**63):
        if isinstance(found, PlacedBatch) and found.batch.header.has_producer_id:
            aborted = replay_batch(state, found.batch)
            if aborted is not None:
                index.append(aborted)
    index.collect(0, 100, [])
    state.transactions.first_unstable(1 << 40)
    TransactionIndex.load(_persisted(index), 0)


def _persisted(index: TransactionIndex) -> bytes:
    disk = SimulatedDisk()
    index.persist(disk, "/txnindex", "/txnchecksum")
    return disk.read_file("/txnindex") if disk.exists("/txnindex") else b""


def _indexes(rng: random.Random) -> list[bytes]:
    contents = []
    for _ in range(10):
        disk = SimulatedDisk()
        offsets, times = OffsetIndex(), TimeIndex()
        for entry in range(rng.randrange(20)):
            offsets.append(entry * 7, entry * 4096)
            times.append(1_700_000_000_000 + entry, entry * 7)
        offsets.persist(disk, "/index")
        times.persist(disk, "/timeindex")
        transactions = TransactionIndex()
        for entry in range(rng.randrange(20)):
            transactions.append(AbortedTransaction(rng.randrange(9), entry * 10, entry * 10 + 5, entry * 10 + 6))
        contents += [disk.read_file("/index"), disk.read_file("/timeindex"), _persisted(transactions)]
    return contents


def _load_indexes(data: bytes) -> None:
    """An index that loads can be used."""
    try:
        offsets = OffsetIndex.load(data)
    except CorruptIndex:
        pass
    else:
        for offset in (-1, 0, 10, 2**31 - 1):
            offsets.lookup(offset)
        offsets.truncate_to(offsets.last()[0])
        offsets.persist(SimulatedDisk(), "/index")
    with suppress(CorruptIndex):
        transactions = TransactionIndex.load(data, 0)
        transactions.collect(3, 50, [])
        transactions.truncate_to(20)
        _persisted(transactions)
    try:
        times = TimeIndex.load(data)
    except CorruptIndex:
        return
    for timestamp in (-1, 0, 2**63 - 1):
        times.lookup(timestamp)
    times.truncate_to(times.last()[1])
    times.persist(SimulatedDisk(), "/timeindex")


def _checkpoints(rng: random.Random) -> list[bytes]:
    offsets = {TopicPartition(f"topic-{number}", number): rng.getrandbits(60) for number in range(5)}
    epochs = b"0\n2\n0 0\n3 100\n"
    return [encode_offsets({}), encode_offsets(offsets), epochs, b""]


def _read_checkpoints(data: bytes) -> None:
    with suppress(CorruptCheckpoint):
        decode_offsets(data)
    try:
        epochs = EpochCache.load(_disk_with(EPOCHS_NAME, data), _DIRECTORY)
    except CorruptCheckpoint:
        return
    for epoch in (-2, -1, 0, 1, 3, 2**31 - 1):
        epochs.end_offset_for(epoch, 1000)
        epochs.epoch_at(epoch)


def _producer_snapshots(rng: random.Random) -> list[bytes]:
    def entry() -> ProducerEntry:
        batches = [BatchMetadata(rng.getrandbits(31), rng.getrandbits(40), 3, 1)] * rng.randrange(2)
        return ProducerEntry(rng.randrange(100), batches, rng.getrandbits(40), -1, rng.choice((-1, 7)))

    return [encode_snapshot({number: entry() for number in range(count)}) for count in (0, 1, 3, 20)]


def _read_producer_snapshot(data: bytes) -> None:
    try:
        producers = decode_snapshot(data)
    except CorruptSnapshot:
        return
    encode_snapshot(producers)
    ProducerState(0, producers).transactions.first_unstable(0)


def _property_files(rng: random.Random) -> list[bytes]:
    disk = SimulatedDisk()
    disk.make_dirs(_DIRECTORY)
    write_meta_properties(disk, _DIRECTORY, MetaProperties("cluster", 1, uuid.UUID(int=rng.getrandbits(128))))
    write_topic_id(disk, _DIRECTORY, uuid.UUID(int=rng.getrandbits(128)))
    server = b"# comment\nlisteners=PLAINTEXT://:9092\nlog.dirs: /a,\\\n  /b\nk\\u00e9y = v\\tl\n! other\n"
    return [*(disk.read_file(f"{_DIRECTORY}/{name}") for name in (META_NAME, TOPIC_ID_NAME)), server]


def _read_property_files(data: bytes) -> None:
    with suppress(CorruptMetaProperties):
        read_meta_properties(_disk_with(META_NAME, data), _DIRECTORY)
    read_topic_id(_disk_with(TOPIC_ID_NAME, data), _DIRECTORY)
    with suppress(NotProperties):
        parse_properties(data.decode("utf-8", "replace"))


TARGETS: Final = (
    Target("segments", _segments, _scan),
    Target("producers_of_segments", _segments, _replay),
    Target("indexes", _indexes, _load_indexes),
    Target("checkpoints", _checkpoints, _read_checkpoints),
    Target("producer_snapshots", _producer_snapshots, _read_producer_snapshot),
    Target("property_files", _property_files, _read_property_files),
)
