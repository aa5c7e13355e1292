"""Reads all partitions without a group; sometimes it seeks back and reads again."""

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from barnabas.testing.checker.clients.session import Session, partition_name, report
from barnabas.testing.checker.events import Assign, Isolation, Poll, Seek

GO_BACK_OF_THOUSAND = 5


def run(session: Session) -> None:
    isolation: Isolation = session.spec.settings["isolation"]
    session.introduce(isolation)
    consumer = Consumer(
        session.config(
            group_id=f"no-group-{session.name}",
            enable_auto_commit=False,
            isolation_level=isolation,
            auto_offset_reset="error",
            fetch_wait_max_ms=100,
            check_crcs=True,
        )
    )
    positions = {partition_name(*place): 0 for place in session.partitions}
    session.note(Assign(t=session.now(), p=session.name, positions=positions))
    consumer.assign([TopicPartition(topic, index, 0) for topic, index in session.partitions])
    reached = dict.fromkeys(session.partitions, 0)
    try:
        while not session.stopping.is_set():
            messages = consumer.consume(200, timeout=0.1)
            records = records_of(messages)
            if records:
                session.note(Poll(t=session.now(), p=session.name, records=records))
            for message in messages:
                if message.error() is None:
                    reached[message.topic(), message.partition()] = message.offset() + 1
            if session.rng.randrange(1000) < GO_BACK_OF_THOUSAND:
                _go_back(session, consumer, reached)
    finally:
        consumer.close()


def _go_back(session: Session, consumer: Consumer, reached: dict[tuple[str, int], int]) -> None:
    topic, index = session.rng.choice(session.partitions)
    # Not to the beginning, or it would never get to new records.
    offset = max(0, reached[topic, index] - session.rng.randrange(1000))
    session.note(Seek(t=session.now(), p=session.name, partition=partition_name(topic, index), offset=offset))
    try:
        consumer.seek(TopicPartition(topic, index, offset))
        reached[topic, index] = offset
    except KafkaException as error:  # its position is unknown then: start over
        report(error)
        positions = {partition_name(*place): at for place, at in reached.items()}
        session.note(Assign(t=session.now(), p=session.name, positions=positions))
        consumer.assign([TopicPartition(*place, at) for place, at in reached.items()])


def records_of(messages: list[Message]) -> dict[str, list[tuple[int, str]]]:
    records: dict[str, list[tuple[int, str]]] = {}
    for message in messages:
        if message.error() is not None:
            report(message.error())
            continue
        partition = partition_name(message.topic(), message.partition())
        records.setdefault(partition, []).append((message.offset(), message.value().decode()))
    return records
