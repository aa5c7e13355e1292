"""A data directory with a bit of everything in it, what was written into it, and what a broker serves of it."""

import datetime
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Producer
from plain_requests import EARLIEST, LATEST, commit_offset, list_offset, produce, read_all

from barnabas.log.checkpoint_file import decode_offsets
from barnabas.model import TopicPartition
from barnabas.records.batch import Batch, split_batches
from barnabas.records.record import decode_records
from barnabas.testing import Broker
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData

PROPERTIES = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
PLAIN, TXN, TRIMMED = "plain", "txn", "trimmed"
TOPICS = (PLAIN, TXN, TRIMMED)
CONFIG = {"internal.segment.bytes": "5000", "index.interval.bytes": "150"}
TRIMMED_TO = 23
COMMITTED = 17
# Lately: producers that have not written for a day are forgotten, and records older than a week are deleted.
START_MS = time.time_ns() // 1_000_000 - 3_600_000


@dataclass
class Written:
    """One directory, and what must be in it."""

    path: Path
    values: dict[str, dict[int, bytes | None]] = field(default_factory=dict)
    """By topic and offset, control records left out."""
    timestamps: dict[str, dict[int, int]] = field(default_factory=dict)
    committed: set[int] = field(default_factory=set)
    """Offsets of TXN that a reader of committed records gets."""
    ends: dict[str, int] = field(default_factory=dict)
    recovery_points: dict[str, int] = field(default_factory=dict)


def make_directories(directory: Path) -> tuple[Written, Written]:
    """After a clean stop, and after a start from there, a few more records, and a kill."""
    stopped, killed = Written(directory / "stopped"), Written(directory / "killed")
    with Broker(process=True, data_dir=stopped.path, properties=PROPERTIES) as broker:
        for topic in TOPICS:
            broker.create_topic(topic, config=CONFIG)
        aborted = _write(broker, 0)
        broker.kill()  # the next start begins another leader epoch
        broker.start()
        aborted |= _write(broker, 1)
        with broker.connect() as client:
            _delete_records(client, TRIMMED, TRIMMED_TO)
            for offset in (COMMITTED - 10, COMMITTED):
                assert commit_offset(client, "group", PLAIN, offset) == ErrorCode.none
        _describe(stopped, broker, aborted)
        broker.stop()
        shutil.copytree(stopped.path, killed.path)
        broker.data_dir = str(killed.path)
        broker.start()
        aborted |= _write(broker, 2)
        _describe(killed, broker, aborted)
        broker.kill()
    assert not (killed.path / ".kafka_cleanshutdown").exists()
    for written in (stopped, killed):
        points = decode_offsets((written.path / "recovery-point-offset-checkpoint").read_bytes())
        written.recovery_points = {topic: points[TopicPartition(topic, 0)] for topic in TOPICS}
    for topic in TOPICS:
        segments = sorted((killed.path / f"{topic}-0").glob("*.log"))
        assert len(segments) > 1
        first_of_last = int(segments[-1].stem)
        assert first_of_last < killed.recovery_points[topic] < killed.ends[topic], "no batch in reach of a start's scan"
    return stopped, killed


def _write(broker: Broker, part: int) -> set[int]:
    """Returns the offsets of TXN that were aborted."""
    count = 6 if part == 2 else 30
    with broker.connect() as client:
        for number in range(part * 30, part * 30 + count):
            values = [b"%d-%d" % (number, each) + b"." * (number * 7 % 90) for each in range(1 + number % 4)]
            for topic in (PLAIN, TRIMMED):
                answer = produce(client, topic, values, timestamp=START_MS + number * 1000)
                assert answer.error_code == ErrorCode.none
    aborted: set[int] = set()
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "transactional.id": f"t{part}",
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    producer.init_transactions()
    for number in range(count // 3):
        offsets: set[int] = set()
        producer.begin_transaction()
        for each in range(1 + number % 3):
            producer.produce(
                TXN,
                f"{part}-{number}-{each}" + "." * 40,
                on_delivery=lambda error, message, offsets=offsets: offsets.add(message.offset()),  # type: ignore[misc]
            )
            producer.flush()
        if number % 2:
            producer.abort_transaction()
            aborted |= offsets
        else:
            producer.commit_transaction()
    return aborted


def _delete_records(client: Client, topic: str, offset: int) -> None:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=(DeleteRecordsTopic(name=topic, partitions=(partition,)),), timeout=datetime.timedelta(seconds=5)
    )
    (answer,) = client.call("delete_records", 2, request).topics
    assert answer.partitions[0].error_code == ErrorCode.none


def _describe(written: Written, broker: Broker, aborted: set[int]) -> None:
    with broker.connect() as client:
        for topic in TOPICS:
            records = read_all(client, topic)
            written.ends[topic] = list_offset(client, topic, LATEST)
            written.values[topic] = {record.offset: record.value for record in records}
            written.timestamps[topic] = {record.offset: record.timestamp for record in records}
        served = Served.read(client, TXN)
        written.values[TXN] = {offset: served.values[offset] for offset in served.values}
        written.timestamps[TXN] = {offset: written.timestamps[TXN][offset] for offset in served.values}
        written.committed = set(served.values) - aborted
        assert served.committed == written.committed


@dataclass
class Served:
    """What a broker gives of a topic, from its start to its end, and which offsets it refuses as damaged."""

    start: int
    end: int
    values: dict[int, bytes | None] = field(default_factory=dict)
    offsets: set[int] = field(default_factory=set)
    """Of all batches that were given, control records included."""
    refused: set[int] = field(default_factory=set)
    committed: set[int] = field(default_factory=set)
    """Those of the offsets in `values` that a reader of committed records is given."""

    @classmethod
    def read(cls, client: Client, topic: str) -> "Served":
        served = cls(list_offset(client, topic, EARLIEST), list_offset(client, topic, LATEST))
        offset = served.start
        while offset < served.end:
            answer = fetch(client, topic, offset)
            if answer.error_code == ErrorCode.corrupt_message:
                served.refused.add(offset)
                offset += 1
                continue
            assert answer.error_code == ErrorCode.none, answer.error_code.name
            for batch in split_batches(answer.records or b""):
                served._take(batch, offset)
                offset = max(offset, batch.header.next_offset)
        served._read_committed(client, topic)
        return served

    def _take(self, batch: Batch, from_offset: int) -> None:
        header = batch.header
        self.offsets |= set(range(max(header.base_offset, from_offset), header.next_offset))
        if not header.is_control:
            for record in decode_records(batch, max_bytes=1 << 24):
                if record.offset >= from_offset:
                    self.values[record.offset] = record.value

    def _read_committed(self, client: Client, topic: str) -> None:
        """As a client does it: what a broker lists as aborted is left out."""
        offset = self.start
        while True:
            answer = fetch(client, topic, offset, committed_only=True)
            if answer.error_code == ErrorCode.corrupt_message:
                offset += 1
                continue
            assert answer.error_code == ErrorCode.none, answer.error_code.name
            if offset >= answer.last_stable_offset:
                return
            ahead = sorted((each.first_offset, each.producer_id) for each in answer.aborted_transactions or ())
            aborting: set[int] = set()
            for batch in split_batches(answer.records or b""):
                header = batch.header
                while ahead and ahead[0][0] <= header.last_offset:
                    aborting.add(ahead.pop(0)[1])
                if header.is_control:
                    aborting.discard(header.producer_id)
                elif header.producer_id not in aborting or not header.is_transactional:
                    records = decode_records(batch, max_bytes=1 << 24)
                    self.committed |= {record.offset for record in records if record.offset >= offset}
                offset = max(offset, header.next_offset)


def fetch(
    client: Client, topic: str, offset: int, *, committed_only: bool = False, max_bytes: int = 1 << 20
) -> PartitionData:
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(
        min_bytes=0,
        max_wait=datetime.timedelta(0),
        isolation_level=int(committed_only),
        topics=(FetchTopic(topic=topic, partitions=(wanted,)),),
    )
    (answer,) = client.call("fetch", 12, request).responses
    return answer.partitions[0]


def batches_of(path: Path) -> list[tuple[int, int, range]]:
    """Begin, end and offsets of each batch in a sound file."""
    found = []
    position = 0
    for batch in split_batches(path.read_bytes()):
        offsets = range(batch.header.base_offset, batch.header.next_offset)
        found.append((position, position + len(batch.data), offsets))
        position += len(batch.data)
    return found
