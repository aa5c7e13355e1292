"""The topics for the Spark tests: one for each thing that a source can get wrong.

Partitions, offsets and timestamps are fixed, so that the expected records of each option are known in advance.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any, Final

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from spark_brokers import LONGEST_TRANSACTION_MS
from spark_records import PATIENCE_SECONDS, Seen, consume

BASE_MS: Final = 1_700_000_000_000
"""The timestamp of the first record of a topic; each record is a second younger than the one before."""
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
PLAIN_COUNT: Final = 300
TRIMMED_AT: Final = 37
COMPACTED_COUNT: Final = 800

_FOREVER: Final = {"retention.ms": "-1"}
TOPICS: Final[Mapping[str, tuple[int, Mapping[str, str]]]] = {
    "plain": (3, _FOREVER),
    "plain-two": (2, _FOREVER),
    "codecs": (len(CODECS), _FOREVER),
    "appended": (1, {**_FOREVER, "message.timestamp.type": "LogAppendTime"}),
    "paid": (2, _FOREVER),
    "compacted": (
        1,
        {
            **_FOREVER,
            "cleanup.policy": "compact",
            "segment.bytes": "1048576",
            "min.cleanable.dirty.ratio": "0.01",
        },
    ),
    "trimmed": (2, _FOREVER),
    "empty": (2, _FOREVER),
}


def plain_partition(number: int) -> int:
    """Two large partitions and a small one."""
    return 2 if number % 10 == 0 else number % 2


class Contents:
    """A filled broker, and what a consumer reads from it."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._uncommitted = consume(servers, TOPICS, committed=False)
        self._committed = consume(servers, TOPICS, committed=True)

    def records(self, *, committed: bool) -> list[Seen]:
        return self._committed if committed else self._uncommitted


@contextmanager
def filled(servers: str) -> Iterator[Contents]:
    """A transaction stays open until the block ends; the server stops then too, so it is not ended."""
    make_topics(servers, {name: count for name, (count, _) in TOPICS.items()})
    _write_plain(servers)
    _write_codecs(servers)
    _write_compacted(servers)
    delete_records(servers, "trimmed", {0: TRIMMED_AT})
    open_transaction = _write_transactions(servers)
    yield Contents(servers)
    del open_transaction


def make_topics(servers: str, topics: Mapping[str, int]) -> None:
    admin: Any = AdminClient({"bootstrap.servers": servers})
    new = [NewTopic(name, count, 1, config=dict(TOPICS.get(name, (0, {}))[1])) for name, count in topics.items()]
    for future in admin.create_topics(new).values():
        future.result(PATIENCE_SECONDS)


def add_partitions(servers: str, topic: str, total: int) -> None:
    admin: Any = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_partitions([NewPartitions(topic, total)]).values():
        future.result(PATIENCE_SECONDS)


def delete_records(servers: str, topic: str, before: Mapping[int, int]) -> None:
    admin: Any = AdminClient({"bootstrap.servers": servers})
    places = [TopicPartition(topic, partition, offset) for partition, offset in before.items()]
    for future in admin.delete_records(places).values():
        future.result(PATIENCE_SECONDS)


def producer_for(servers: str, **settings: object) -> Any:
    """Small batches, so that a fetch has many; idempotent, so that they stay in order."""
    common = {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 5, "batch.num.messages": 20}
    return Producer({**common, **settings})


def flush(producer: Any) -> None:
    assert producer.flush(PATIENCE_SECONDS) == 0


def _write_plain(servers: str) -> None:
    """Keys, values and headers that are present, empty, or null."""
    producer = producer_for(servers)
    choice = Random(7)
    for number in range(PLAIN_COUNT):
        headers: list[tuple[str, bytes | None]] = [
            ("same", b"1"),
            ("same", b""),
            ("größe", bytes([number % 256, 255])),
            ("nothing", None),
        ]
        producer.produce(
            "plain",
            key=(None, b"", b"key %d" % number)[number % 3],
            value=(b"value %d" % number, None, b"", choice.randbytes(number))[number % 4],
            partition=plain_partition(number),
            timestamp=BASE_MS + number * 1000,
            headers=headers[: number % 5] or None,
        )
        if number < 50:
            producer.produce("plain-two", b"two %d" % number, partition=number % 2, timestamp=BASE_MS + number * 1000)
        if number < 40:
            producer.produce("appended", b"appended %d" % number, timestamp=BASE_MS)
        if number < 120:
            producer.produce("trimmed", b"trimmed %d" % number, partition=number % 2, timestamp=BASE_MS + number)
    flush(producer)


def _write_codecs(servers: str) -> None:
    for partition, codec in enumerate(CODECS):
        producer = producer_for(servers, **{"compression.type": codec})
        for number in range(200):
            word = b"%s %d " % (codec.encode(), number % 17)
            key = None if number % 5 == 0 else b"%d" % number
            producer.produce(
                "codecs",
                key=key,
                value=word * (number % 40),
                partition=partition,
                timestamp=BASE_MS + number,
                headers=[("codec", codec.encode())],
            )
        flush(producer)


def _write_compacted(servers: str) -> None:
    """Ten keys in two segments; the cleaner leaves gaps in the first one, and removes all records at its start."""
    producer = producer_for(servers)
    noise = Random(11)
    for number in range(COMPACTED_COUNT):
        value = None if number % 50 == 49 else noise.randbytes(2000)
        producer.produce(
            "compacted", key=b"key %d" % (number % 10), value=value, partition=0, timestamp=BASE_MS + number
        )
    flush(producer)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(consume(servers, ["compacted"], committed=False)) == COMPACTED_COUNT:
        assert time.monotonic() < deadline, "the cleaner did not run"


def _write_transactions(servers: str) -> Any:
    """Committed and aborted ones with plain records between them, then one that stays open, and more after it."""
    settings = {"transactional.id": "paid", "transaction.timeout.ms": LONGEST_TRANSACTION_MS}
    transactional = producer_for(servers, **settings)
    transactional.init_transactions(PATIENCE_SECONDS)
    plain = producer_for(servers)
    for number in range(7):
        transactional.begin_transaction()
        for turn in range(8):
            transactional.produce("paid", b"transaction %d %d" % (number, turn), partition=turn % 2)
        flush(transactional)
        for partition in range(2):
            plain.produce("paid", b"beside %d" % number, partition=partition)
        flush(plain)
        if number == 6:
            break
        if number % 3 == 1:
            transactional.abort_transaction(PATIENCE_SECONDS)
        else:
            transactional.commit_transaction(PATIENCE_SECONDS)
    return transactional
