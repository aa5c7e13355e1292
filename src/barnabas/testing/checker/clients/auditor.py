"""Fetches the committed offsets of a group every second."""

from confluent_kafka import Consumer, KafkaException

from barnabas.testing.checker.clients.session import Session, report
from barnabas.testing.checker.committed import ask_offsets

ASK_EVERY_SECONDS = 1.0
ANSWER_SECONDS_MAX = 10.0


def run(session: Session) -> None:
    group: str = session.spec.settings["group"]
    session.introduce()
    consumer = Consumer(session.config(group_id=group, enable_auto_commit=False))
    try:
        while not session.stopping.wait(ASK_EVERY_SECONDS):
            try:
                session.note(ask_offsets(consumer, session.name, group, session.partitions, ANSWER_SECONDS_MAX))
            except KafkaException as error:  # the broker is down
                report(error)
    finally:
        consumer.close()
