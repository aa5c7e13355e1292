"""Fills a server, and reads back what its clients see. The server may be Barnabas or Apache Kafka.

`write` fills a new server with one of everything that is stored on disk, `write_more` adds to it, and `observe` reads
all of it through the protocol: two servers on the same directory must give equal observations.
"""

import datetime
import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    ResourceType,
)
from long_transaction import LongTransaction

from barnabas.records.record import Record, build_batch
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
TOPICS: Final = {
    "plain": (3, {}),
    "segmented": (1, {"segment.bytes": "1048576", "index.interval.bytes": "1024", "retention.ms": "86400000"}),
    "compacted": (
        1,
        {
            "cleanup.policy": "compact",
            "segment.bytes": "1048576",
            "min.cleanable.dirty.ratio": "0.01",
        },
    ),
    "trimmed": (2, {"message.timestamp.type": "LogAppendTime", "compression.type": "zstd"}),
    "sequenced": (1, {}),
    "paid": (2, {"segment.bytes": "1048576"}),
    "doomed": (2, {}),
}
GROUPS: Final = ("readers", "others")
KEYS: Final = 40
PATIENCE_SECONDS: Final = 30.0

T = TypeVar("T")


class SeenRecord(NamedTuple):
    offset: int
    timestamp: tuple[int, int]
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


class Observation(NamedTuple):
    topics: dict[str, tuple[str, int]]
    """Id and number of partitions."""
    configs: dict[str, dict[str, str]]
    offsets: dict[tuple[str, int], tuple[int, int]]
    """Log start and end."""
    records: dict[tuple[str, int], list[SeenRecord]]
    latest_by_key: dict[bytes | None, bytes | None]
    """The last value of each key in the compacted topic; what else is left depends on when a cleaner ran."""
    committed: dict[str, dict[tuple[str, int], tuple[int, str]]]
    uncommitted: dict[int, list[SeenRecord]]
    """The topic with transactions, by partition, including aborted and open ones."""


class ClusterContents:
    def __init__(self) -> None:
        self.producer_id = -1
        self._sequence = 0
        self._rounds = 0
        self.paid: list[bytes] = []
        """The committed records in partition 0 of the topic with transactions, in order, without filler."""
        self._long = LongTransaction("paid")

    def write(self, servers: str) -> None:
        admin = AdminClient({"bootstrap.servers": servers})
        topics = [NewTopic(name, count, 1, config=config) for name, (count, config) in TOPICS.items()]
        _wait(admin.create_topics(topics))
        self.write_more(servers)
        _wait(admin.delete_topics(["doomed"]))
        _wait(admin.delete_records([TopicPartition("trimmed", 0, 37)]))
        change = ConfigEntry("max.message.bytes", "777777", incremental_operation=AlterConfigOpType.SET)
        for name in ("plain", "trimmed"):
            resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[change])
            _wait(admin.incremental_alter_configs([resource]))
        _with_retries(lambda: len(_read(servers, "compacted", 0)[1]) < 1000 or None)

    def write_more(self, servers: str) -> None:
        """More of the same, with the round in each record."""
        turn = self._rounds
        self._rounds += 1
        noise = Random(turn)  # it does not compress, so segments fill up
        for codec in CODECS:
            producer = Producer(
                {"bootstrap.servers": servers, "enable.idempotence": True, "compression.type": codec, "linger.ms": 5}
                | {"batch.num.messages": 20}  # small batches, many index entries
            )
            for number in range(120):
                label = f"{turn} {codec} {number}"
                key = None if number % 9 == 0 else label
                producer.produce("plain", label * 3, key=key, partition=number % 3, headers={"label": label.encode()})
                producer.produce("trimmed", label, partition=number % 2)
            for _ in range(100):
                producer.produce("segmented", noise.randbytes(6000) + bytes(3000), partition=0)
            for number in range(400):
                value = None if number % 13 == 0 else noise.randbytes(1500) + bytes(500)
                producer.produce("compacted", value, key=f"key {number % KEYS}", partition=0)
            assert producer.flush(30) == 0
        self._commit(servers, turn)
        self.append_in_sequence(servers)
        self._transact(servers, turn, noise)

    def _transact(self, servers: str, turn: int, noise: Random) -> None:
        """End the transaction that the last server left open, commit and abort others, and leave one open."""
        if turn > 0:
            self.paid += self._long.end(servers, committed=turn % 3 != 0)
        producer = Producer({"bootstrap.servers": servers, "transactional.id": "short", "linger.ms": 5})
        producer.init_transactions(PATIENCE_SECONDS)
        for number in range(6):
            commit = number % 3 != 1
            value = b"short %d %d" % (turn, number)
            producer.begin_transaction()
            producer.produce("paid", value, partition=0)
            for partition in range(2):
                for _ in range(5):
                    producer.produce("paid", noise.randbytes(60_000), key="noise", partition=partition)
            assert producer.flush(PATIENCE_SECONDS) == 0
            if commit:
                producer.commit_transaction(PATIENCE_SECONDS)
                self.paid.append(value)
            else:
                producer.abort_transaction(PATIENCE_SECONDS)
        self._long.begin(servers)

    def _commit(self, servers: str, turn: int) -> None:
        for group, step in zip(GROUPS, (1, 7), strict=True):
            consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
            places = [TopicPartition("plain", index, turn * 10 + index * step, f"{group} {turn}") for index in range(3)]
            _with_retries(partial(consumer.commit, offsets=places, asynchronous=False))
            consumer.close()

    # --- one idempotent producer that outlives every server

    def append_in_sequence(self, servers: str) -> int:
        """The next batch of a producer that numbers its records. The offset it got."""
        offset = self._send(servers, self._sequence)
        self._sequence += 3
        return offset

    def repeat_last_batch(self, servers: str) -> int:
        """Like a producer that did not get the answer. Returns the offset in the new answer."""
        return self._send(servers, self._sequence - 3)

    def _send(self, servers: str, base_sequence: int) -> int:
        host, _, port = servers.partition(":")
        with Client(host, int(port)) as client:
            if self.producer_id < 0:
                asked = InitProducerIdRequest(transactional_id=None, transaction_timeout=datetime.timedelta(0))
                self.producer_id = _with_retries(
                    lambda: (
                        answer.producer_id
                        if (answer := client.call("init_producer_id", 4, asked)).error_code == ErrorCode.none
                        else None
                    )
                )
            now_ms = int(time.time() * 1000)  # a producer whose records are a day old is forgotten
            batch = build_batch(
                [Record(timestamp=now_ms, value=b"%d" % (base_sequence + n)) for n in range(3)],
                producer_id=self.producer_id,
                producer_epoch=0,
                base_sequence=base_sequence,
            )
            data = TopicProduceData(name="sequenced", partition_data=(PartitionProduceData(index=0, records=batch),))
            request = ProduceRequest(acks=-1, timeout=datetime.timedelta(seconds=20), topic_data=(data,))
            (answer,) = client.call("produce", 9, request).responses[0].partition_responses
            assert answer.error_code == ErrorCode.none, (answer.error_code.name, answer.error_message)
            return int(answer.base_offset)


def observe(servers: str) -> Observation:
    admin = AdminClient({"bootstrap.servers": servers})
    names = sorted(name for name in admin.list_topics(timeout=20).topics if not name.startswith("__"))
    topics = {}
    for name, described in admin.describe_topics(TopicCollection(names)).items():
        topics[name] = (str(described.result().topic_id), len(described.result().partitions))
    configs = {}
    for resource, future in admin.describe_configs(
        [ConfigResource(ResourceType.TOPIC, name) for name in names]
    ).items():
        own = (entry for entry in future.result().values() if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value)
        configs[resource.name] = {entry.name: entry.value for entry in own}
    offsets, records = {}, {}
    for name, (_, partitions) in topics.items():
        for index in range(partitions):
            offsets[name, index], records[name, index] = _read(servers, name, index)
    latest_by_key = {record.key: record.value for record in records.pop(("compacted", 0))}
    committed = {group: _with_retries(partial(_committed, admin, group)) for group in GROUPS}
    uncommitted = {index: _read(servers, "paid", index, isolation="read_uncommitted")[1] for index in range(2)}
    return Observation(topics, configs, offsets, records, latest_by_key, committed, uncommitted)


def _read(
    servers: str, topic: str, partition: int, *, isolation: str = "read_committed"
) -> tuple[tuple[int, int], list[SeenRecord]]:
    settings = {"bootstrap.servers": servers, "group.id": "none", "enable.partition.eof": True, "fetch.wait.max.ms": 10}
    settings |= {"isolation.level": isolation}
    consumer = Consumer(settings | {"enable.auto.commit": False, "auto.offset.reset": "error"})
    place = TopicPartition(topic, partition)
    start, end = _with_retries(partial(consumer.get_watermark_offsets, place, timeout=5))
    consumer.assign([TopicPartition(topic, partition, start)])
    records = []
    while (message := consumer.poll(20)) is not None:
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            break
        headers = tuple(message.headers() or ())
        records.append(SeenRecord(message.offset(), message.timestamp(), message.key(), message.value(), headers))
    consumer.close()
    return (start, end), records


def _committed(admin: AdminClient, group: str) -> dict[tuple[str, int], tuple[int, str]]:
    (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    return {(each.topic, each.partition): (each.offset, each.metadata) for each in future.result().topic_partitions}


def _wait(futures: dict[object, Any]) -> None:
    for future in futures.values():
        future.result(20)


def _with_retries(look: Callable[[], T | None]) -> T:
    """Retry: a server that has just started may still be loading."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            if (found := look()) is not None:
                return found
        except KafkaException:
            if time.monotonic() > deadline:
                raise
        assert time.monotonic() < deadline, "still not answered"
        time.sleep(0.05)
