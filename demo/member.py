"""A member of the consumer group: notes every record it processes in a file, then commits.

Run as `python -m demo.member NAME SERVERS TOPIC GROUP SESSION_TIMEOUT_MS FILE`. What it processed and did not live to
commit is handed to another member again: the proof sees both notes, with the same partition and offset.
"""

import os
import sys
import time

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from demo.reporting import end_of_stdin, report

BATCH = 500
POLL_S = 0.1
REPORT_EVERY_S = 0.25


class Member:
    def __init__(self, name: str, servers: str, topic: str, group: str, session_timeout_ms: int, notes: int) -> None:
        self.processed = 0
        self.done: dict[int, int] = {}
        """Per partition, the offset after the last processed record."""
        self._notes = notes
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "client.id": name,
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": session_timeout_ms,
                "heartbeat.interval.ms": session_timeout_ms // 4,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._consumer.subscribe([topic])

    def step(self) -> None:
        records = [message for message in self._consumer.consume(BATCH, POLL_S) if message.error() is None]
        if not records:
            return
        # One write, straight to the kernel: what is noted survives a SIGKILL.
        os.write(self._notes, b"".join(map(_note, records)))
        self.processed += len(records)
        ends = {message.partition(): message.offset() + 1 for message in records}
        self.done.update(ends)
        topic = records[0].topic()
        try:
            offsets = [TopicPartition(topic, partition, offset) for partition, offset in ends.items()]
            self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException:
            return  # the broker is away; a later commit covers this one

    def tell(self) -> None:
        assigned = sorted(place.partition for place in self._consumer.assignment())
        report(processed=self.processed, done=self.done, assigned=assigned)

    def close(self) -> None:
        self._consumer.close()


def _note(message: Message) -> bytes:
    return b"%d %d %s\n" % (message.partition(), message.offset(), message.key())


def main() -> None:
    name, servers, topic, group, session_timeout_ms, path = sys.argv[1:]
    ended = end_of_stdin()
    notes = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    member = Member(name, servers, topic, group, int(session_timeout_ms), notes)
    told = 0.0
    while not ended.is_set():
        member.step()
        if time.monotonic() - told >= REPORT_EVERY_S:
            member.tell()
            told = time.monotonic()
    member.close()


if __name__ == "__main__":
    main()
