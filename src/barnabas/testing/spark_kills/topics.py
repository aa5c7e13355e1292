"""Produces the input of the query and reads its output, with separate clients."""

import time
from collections import Counter
from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.errors import check
from barnabas.client.producer import Producer
from barnabas.client.properties import client_settings
from barnabas.client.transaction_log import read_log
from barnabas.records.control import read_marker
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

INPUT, OUTPUT = "kills-in", "kills-out"
INPUT_PARTITIONS, OUTPUT_PARTITIONS = 2, 3
_BATCH_BYTES_MAX: Final = 16 * 1024 * 1024


def create_topics(bootstrap: str) -> None:
    wanted = ((INPUT, INPUT_PARTITIONS), (OUTPUT, OUTPUT_PARTITIONS))
    topics = tuple(
        CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name, partitions in wanted
    )
    with Cluster(client_settings({"bootstrap.servers": bootstrap})) as cluster:
        for made in cluster.call("create_topics", CreateTopicsRequest(topics=topics)).topics:
            check(made.error_code, made.error_message)


def produce(bootstrap: str, values: list[str]) -> None:
    with Cluster(client_settings({"bootstrap.servers": bootstrap})) as cluster, Producer(cluster) as producer:
        for partition in range(INPUT_PARTITIONS):
            now_ms = int(time.time() * 1000)
            records = [Record(0, now_ms, None, value.encode()) for value in values[partition::INPUT_PARTITIONS]]
            producer.send(INPUT, partition, bytearray(build_batch(records)))


class OutputReader:
    """Continues where it left off. Counts committed records by the markers in the log."""

    def __init__(self, bootstrap: str) -> None:
        self._cluster = Cluster(client_settings({"bootstrap.servers": bootstrap, "retry.backoff.ms": "50"}))
        self._positions = dict.fromkeys(range(OUTPUT_PARTITIONS), 0)
        self._open: dict[tuple[int, int], list[str]] = {}
        self.seen: Counter[str] = Counter()
        self.aborted_records = 0

    def read(self) -> None:
        for partition, position in self._positions.items():
            for batch in read_log(self._cluster, OUTPUT, partition, start=position):
                self._positions[partition] = batch.header.next_offset
                owner = partition, batch.header.producer_id
                if batch.header.is_control:
                    marker = read_marker(batch)
                    ended = self._open.pop(owner, [])
                    if marker is not None and marker.commit:
                        self.seen.update(ended)
                    else:
                        self.aborted_records += len(ended)
                    continue
                values = [(each.value or b"").decode() for each in decode_records(batch, max_bytes=_BATCH_BYTES_MAX)]
                if batch.header.is_transactional:
                    self._open.setdefault(owner, []).extend(values)
                else:
                    self.seen.update(values)

    def close(self) -> None:
        self._cluster.close()


def read_committed(bootstrap: str) -> Counter[str]:
    """Read the whole output again with librdkafka."""
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "kills-judge",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    seen: Counter[str] = Counter()
    try:
        consumer.assign([TopicPartition(OUTPUT, partition, 0) for partition in range(OUTPUT_PARTITIONS)])
        at_end: set[int] = set()
        while len(at_end) < OUTPUT_PARTITIONS:
            for message in consumer.consume(1000, timeout=1.0):
                if message.error() is None:
                    seen[message.value().decode()] += 1
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    at_end.add(message.partition())
                else:
                    raise RuntimeError(str(message.error()))
    finally:
        consumer.close()
    return seen
