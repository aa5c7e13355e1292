"""Records in one form, read by Spark's own connector, by ours, and by a plain consumer."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

PATIENCE_SECONDS: Final = 30.0

Headers = tuple[tuple[str, bytes | None], ...]


class Seen(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp_us: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: Headers | None
    """None if there are none, or if they were not requested."""

    @property
    def timestamp_ms(self) -> int:
        return self.timestamp_us // 1000

    def without_headers(self) -> "Seen":
        return self._replace(headers=None)


def collect(frame: "DataFrame") -> list[Seen]:
    """All rows, sorted. Timestamps as numbers: a session's time zone must not matter."""
    columns = ["topic", "partition", "offset", "unix_micros(timestamp) as us", "timestampType", "key", "value"]
    if "headers" in frame.columns:
        columns.append("headers")
    return sorted(map(_of_row, frame.selectExpr(*columns).collect()), key=lambda seen: seen[:3])


def consume(servers: str, topics: Iterable[str], *, committed: bool) -> list[Seen]:
    """Everything in these topics that a plain consumer can read now, sorted."""
    consumer: Any = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "judge",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    known = consumer.list_topics(timeout=PATIENCE_SECONDS).topics
    places = [TopicPartition(topic, index, 0) for topic in topics for index in known[topic].partitions]
    consumer.assign(places)
    try:
        return sorted(_until_ends(consumer, len(places)), key=lambda seen: seen[:3])
    finally:
        consumer.close()


def _until_ends(consumer: Any, ends: int) -> Iterator[Seen]:
    while ends > 0:
        message = consumer.poll(PATIENCE_SECONDS)
        assert message is not None, f"{ends} partitions have not been read to their ends"
        error = message.error()
        if error is None:
            yield _of_message(message)
        elif error.code() == KafkaError._PARTITION_EOF:
            ends -= 1
        else:
            raise AssertionError(str(error))


def _of_message(message: Any) -> Seen:
    kind, timestamp_ms = message.timestamp()
    return Seen(
        message.topic(),
        message.partition(),
        message.offset(),
        timestamp_ms * 1000,
        int(kind == TIMESTAMP_LOG_APPEND_TIME),
        message.key(),
        message.value(),
        tuple(message.headers()) if message.headers() else None,
    )


def _of_row(row: "Row") -> Seen:
    topic, partition, offset, timestamp_us, timestamp_type, key, value = row[:7]
    headers = row[7] if len(row) > 7 else None
    return Seen(
        topic,
        partition,
        offset,
        timestamp_us,
        timestamp_type,
        _bytes(key),
        _bytes(value),
        None if headers is None else tuple((header[0], _bytes(header[1])) for header in headers),
    )


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)
