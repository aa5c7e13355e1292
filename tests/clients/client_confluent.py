"""confluent-kafka: librdkafka, the C client that most languages bind."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from client_records import DEADLINE_S, Seen, Sent
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition


class ConfluentKafka:
    name = "confluent-kafka"

    def writable(self, records: Iterable[Sent]) -> list[Sent]:
        return list(records)

    def write(
        self, servers: str, topic: str, records: Sequence[Sent], *, codec: str = "none", **config: Any
    ) -> list[int]:
        reports = deliver(servers, topic, records, **{"compression.codec": codec, **config})
        return [report.offset() for report in reports]

    def read(self, servers: str, topic: str, ends: Mapping[int, int]) -> list[Seen]:
        with consumer(servers, "reader") as reader:
            reader.assign([TopicPartition(topic, partition, 0) for partition in ends])
            return [seen_of(message) for message in take(reader, sum(ends.values()))]


# A broker that comes back is found soon.
RECONNECT = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 200}


def producer(servers: str, **config: Any) -> Producer:
    return Producer({"bootstrap.servers": servers, "linger.ms": 2, **RECONNECT, **config})


def consumer(servers: str, group: str, **config: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **RECONNECT,
            **config,
        }
    )


def deliver(servers: str, topic: str, records: Sequence[Sent], **config: Any) -> list[Message]:
    """The delivery report of each record, in the order the records were given; raises on the first error."""
    reports: dict[int, Message] = {}
    errors: list[Any] = []
    writer = producer(servers, **config)
    for number, record in enumerate(records):

        def on_delivery(error: Any, message: Message, number: int = number) -> None:
            reports[number] = message
            if error:
                errors.append(error)

        writer.produce(
            topic,
            partition=record.partition,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
            timestamp=record.timestamp or 0,
            on_delivery=on_delivery,
        )
    left = writer.flush(DEADLINE_S)
    if errors:
        raise KafkaException(errors[0])
    assert left == 0, f"{left} records were not acknowledged"
    return [reports[number] for number in range(len(records))]


def take(reader: Consumer, count: int) -> list[Message]:
    """The next `count` messages."""
    messages: list[Message] = []
    while len(messages) < count:
        batch = reader.consume(count - len(messages), DEADLINE_S)
        assert batch, f"got {len(messages)} of {count} messages"
        for message in batch:
            if message.error():
                raise KafkaException(message.error())
        messages += batch
    return messages


def seen_of(message: Message) -> Seen:
    return Seen(
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )
