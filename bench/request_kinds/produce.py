"""Produce, with acks=all, and whole transactions."""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from barnabas.records.compression import Codec
from barnabas.records.record import Record, build_batch
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from bench.admin import make_topic
from bench.frames import batch_of
from bench.load.transactions import Transactions
from bench.request_kinds.kind import EQUAL, RequestKind, repeated
from bench.request_kinds.topics import PARTITIONS, TOPIC

_TRANSACTIONS_TOPIC: Final = "requests-transactions"


def _produce(*batches: tuple[int, bytes]) -> ProduceRequest:
    partitions = tuple(PartitionProduceData(index=index, records=batch) for index, batch in batches)
    data = TopicProduceData(name=TOPIC, partition_data=partitions)
    return ProduceRequest(acks=-1, timeout=timedelta(seconds=30), topic_data=(data,))


def plain(_: int) -> list[ProduceRequest]:
    return [_produce((partition, batch_of(1, 100))) for partition in range(PARTITIONS)]


def _compressed(_: int) -> list[ProduceRequest]:
    now_ms = time.time_ns() // 1_000_000
    records = [Record(timestamp=now_ms, value=b'{"device": %d, "celsius": 21.5}' % number * 3) for number in range(20)]
    batch = build_batch(records, codec=Codec.LZ4)
    return [_produce((partition, batch)) for partition in range(PARTITIONS)]


def _to_all_partitions(_: int) -> list[ProduceRequest]:
    return [_produce(*((partition, batch_of(1, 100)) for partition in range(PARTITIONS)))]


def _transactions(port: int, connections: int) -> Sequence[Transactions]:
    make_topic(port, _TRANSACTIONS_TOPIC, PARTITIONS)
    return [
        Transactions(f"requests-{index}", _TRANSACTIONS_TOPIC, [index % PARTITIONS], 100)
        for index in range(connections)
    ]


KINDS: Final = (
    RequestKind("Produce 12, one plain batch", repeated("produce", 12, plain), EQUAL),
    RequestKind("Produce 3, one plain batch", repeated("produce", 3, plain), EQUAL),
    RequestKind("Produce 12, one lz4 batch of 20 records", repeated("produce", 12, _compressed), EQUAL),
    RequestKind("Produce 9, 8 partitions", repeated("produce", 9, _to_all_partitions), EQUAL),
)
TRANSACTION: Final = RequestKind("transaction: Produce 12 of 1 and EndTxn 5", _transactions)
