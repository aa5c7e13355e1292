"""Sends numbered values to all partitions, with or without idempotence, and records each acknowledgement."""

from collections import defaultdict

from confluent_kafka import KafkaError, Message, Producer

from barnabas.testing.checker.clients.session import FLUSH_SECONDS_MAX, Pace, Session, partition_name, report
from barnabas.testing.checker.events import Ack, Fail, Send

OUTSTANDING_MAX = 300
BURST_MAX = 20


class Acknowledgements:
    """Collects delivery reports, and records them by partition."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._acks: dict[str, list[tuple[str, int]]] = defaultdict(list)

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        partition = partition_name(message.topic(), message.partition())
        value = message.value().decode()
        if error is None:
            self._acks[partition].append((value, message.offset()))
        else:
            report(f"{value}: {error}")
            now = self._session.now()
            self._session.note(Fail(t=now, p=self._session.name, partition=partition, value=value, error=error.name()))

    def note(self) -> None:
        acks, self._acks = self._acks, defaultdict(list)
        for partition, pairs in acks.items():
            self._session.note(Ack(t=self._session.now(), p=self._session.name, partition=partition, acks=pairs))


def run(session: Session) -> None:
    is_idempotent = bool(session.spec.settings["idempotent"])
    session.introduce()
    producer = Producer(
        session.config(
            acks="all",
            enable_idempotence=is_idempotent,
            # Without sequence numbers, only one request in flight keeps the order over retries.
            max_in_flight=5 if is_idempotent else 1,
            linger_ms=2,
            batch_num_messages=50,
            message_timeout_ms=300_000,
        )
    )
    acknowledgements = Acknowledgements(session)
    pace = Pace(float(session.spec.settings["per_second"]))
    while not session.stopping.is_set():
        count = pace.take(BURST_MAX)
        if count and len(producer) < OUTSTANDING_MAX:
            topic, index = session.rng.choice(session.partitions)
            values = [session.new_value() for _ in range(count)]
            partition = partition_name(topic, index)
            session.note(Send(t=session.now(), p=session.name, partition=partition, values=values))
            for value in values:
                producer.produce(topic, value, partition=index, on_delivery=acknowledgements.delivered)
        producer.poll(0.005)
        acknowledgements.note()
    producer.flush(FLUSH_SECONDS_MAX)
    acknowledgements.note()
