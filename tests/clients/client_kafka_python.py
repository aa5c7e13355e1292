"""kafka-python: a client written in Python alone."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

from client_records import DEADLINE_S, Seen, Sent
from kafka import KafkaConsumer, KafkaProducer, TopicPartition


class KafkaPython:
    name = "kafka-python"

    def writable(self, records: Iterable[Sent]) -> list[Sent]:
        return list(records)

    def write(
        self, servers: str, topic: str, records: Sequence[Sent], *, codec: str = "none", **config: Any
    ) -> list[int]:
        codec_name = None if codec == "none" else codec
        with closing(producer(servers, compression_type=codec_name, **config)) as writer:
            futures = [send(writer, topic, record) for record in records]
            writer.flush(DEADLINE_S)
            return [future.get(DEADLINE_S).offset for future in futures]

    def read(self, servers: str, topic: str, ends: Mapping[int, int]) -> list[Seen]:
        with closing(consumer(servers)) as reader:
            reader.assign([TopicPartition(topic, partition) for partition in ends])
            return [seen_of(record) for record in take(reader, sum(ends.values()))]


def producer(servers: str, **config: Any) -> KafkaProducer:
    return KafkaProducer(bootstrap_servers=servers, linger_ms=2, **config)


def consumer(servers: str, **config: Any) -> KafkaConsumer:
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **config}
    return KafkaConsumer(bootstrap_servers=servers, **settings)


def send(writer: KafkaProducer, topic: str, record: Sent) -> Any:
    return writer.send(
        topic,
        partition=record.partition,
        key=record.key,
        value=record.value,
        headers=list(record.headers),
        timestamp_ms=record.timestamp,
    )


def take(reader: KafkaConsumer, count: int) -> list[Any]:
    """The next `count` records."""
    records: list[Any] = []
    while len(records) < count:
        batch = reader.poll(timeout_ms=int(DEADLINE_S * 1000), max_records=count - len(records))
        assert batch, f"got {len(records)} of {count} records"
        for batch_records in batch.values():
            records += batch_records
    return records


def seen_of(record: Any) -> Seen:
    return Seen(record.partition, record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
