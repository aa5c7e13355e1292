"""An idempotent producer: numbered records at a steady rate; notes every acknowledgement in a file.

Run as `python -m demo.sender NAME SERVERS TOPIC RATE FILE`.
"""

import sys
import time
from pathlib import Path
from typing import TextIO

from confluent_kafka import KafkaError, Message, Producer

from demo.reporting import end_of_stdin, report

PADDING = b"." * 100
TICK_S = 0.02
REPORT_EVERY_S = 0.25


class Sender:
    def __init__(self, name: str, servers: str, topic: str, notes: TextIO) -> None:
        self.name = name
        self.sent = 0
        self.acked = 0
        self.failed = 0
        self.ends: dict[int, int] = {}
        """Per partition, the offset after the last acknowledged record."""
        self._topic = topic
        self._notes = notes
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "client.id": name,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 120_000,  # a broker that is down for a while costs time and no records
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )

    def send_one(self) -> None:
        id_ = f"{self.name}-{self.sent}"
        while True:
            try:
                self._producer.produce(self._topic, id_.encode() + b" " + PADDING, id_, on_delivery=self._on_delivery)
            except BufferError:
                self._producer.poll(0.1)
            else:
                self.sent += 1
                return

    def poll(self) -> None:
        self._producer.poll(0)

    def flush(self) -> int:
        return int(self._producer.flush(REPORT_EVERY_S))

    def tell(self) -> None:
        self._notes.flush()
        report(sent=self.sent, acked=self.acked, failed=self.failed, ends=self.ends)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed += 1
            return
        partition, offset = message.partition(), message.offset()
        self._notes.write(f"{message.key().decode()} {partition} {offset}\n")
        self.ends[partition] = max(self.ends.get(partition, 0), offset + 1)
        self.acked += 1


def main() -> None:
    name, servers, topic, rate, path = sys.argv[1:]
    ended = end_of_stdin()
    with Path(path).open("w") as notes:
        sender = Sender(name, servers, topic, notes)
        started = told = time.monotonic()
        while not ended.wait(TICK_S):
            now = time.monotonic()
            while sender.sent < (now - started) * float(rate):
                sender.send_one()
            sender.poll()
            if now - told >= REPORT_EVERY_S:
                sender.tell()
                told = now
        while sender.flush():
            sender.tell()
        sender.tell()


if __name__ == "__main__":
    main()
