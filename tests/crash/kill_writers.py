"""The load that a broker is killed under: writers that number their records and keep every acknowledgement."""

import threading
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from barnabas.model import TopicPartition

# Clients that reconnect quickly: a round lasts a few hundred milliseconds.
QUICK_RETURN = {
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 60,
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 60,
    # Otherwise it starts again with its bootstrap servers whenever the broker is down, with timers of a second.
    "metadata.recovery.strategy": "none",
    # The broker is away most of the time, and librdkafka says so on stderr each time.
    "log_level": 0,
}

# Enough to keep every partition busy, and little enough that a queue says something about requests.
OUTSTANDING_MAX = 150


class Acknowledged(NamedTuple):
    number: int
    offset: int
    """-1: the broker no longer knew the offset of this duplicate."""


class Writer:
    """One producer. Its records are `name:number:padding`, numbered from 0 in each partition.

    With `keys` each record has one of so many keys, for topics that are compacted.
    """

    def __init__(
        self,
        name: str,
        servers: str,
        partitions: Sequence[TopicPartition],
        *,
        idempotent: bool,
        seed: int,
        keys: int = 0,
    ) -> None:
        self.name = name
        self.idempotent = idempotent
        self.partitions = partitions
        self.acknowledged: dict[TopicPartition, list[Acknowledged]] = {partition: [] for partition in partitions}
        self.sent = dict.fromkeys(partitions, 0)
        self.last_number: dict[tuple[TopicPartition, str], int] = {}
        """(partition, key): the number of the last record sent with it"""
        self.failures: list[str] = []
        self._keys = keys
        self._rng = Random(seed)
        self._stop = threading.Event()
        self._producer = Producer(
            {
                **QUICK_RETURN,
                "bootstrap.servers": servers,
                "client.id": name,
                "acks": "all",
                "enable.idempotence": idempotent,
                # Without sequence numbers only one request at a time keeps the order through retries.
                "max.in.flight": 5 if idempotent else 1,
                "linger.ms": 1,
                "batch.num.messages": 25,
                "message.timeout.ms": 240_000,
                "error_cb": self._on_error,
            }
        )
        self._thread = threading.Thread(target=self._run, name=name)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Send no more; returns when everything that was sent is acknowledged or has failed."""
        self._stop.set()
        self._thread.join()

    def acknowledged_counts(self) -> dict[TopicPartition, int]:
        return {partition: len(known) for partition, known in self.acknowledged.items()}

    def outstanding(self) -> int:
        return sum(self.sent.values()) - sum(map(len, self.acknowledged.values()))

    def _run(self) -> None:
        try:
            self._write()
        except KafkaException as error:  # after a fatal error nothing can be sent any more
            self.failures.append(str(error))

    def _write(self) -> None:
        while not self._stop.is_set():
            if len(self._producer) < OUTSTANDING_MAX:
                for _ in range(self._rng.randint(1, 10)):
                    self._send()
            self._producer.poll(0.004)
        left = self._producer.flush(120)
        if left:
            self.failures.append(f"{left} records are still not acknowledged")

    def _send(self) -> None:
        partition = self._rng.choice(self.partitions)
        number = self.sent[partition]
        self.sent[partition] = number + 1
        padding = "." * self._rng.randint(0, 300)
        key = f"key{self._rng.randrange(self._keys)}" if self._keys else None
        if key is not None:
            self.last_number[partition, key] = number

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.failures.append(f"record {number} of {partition}: {error}")
            else:
                self.acknowledged[partition].append(Acknowledged(number, message.offset()))

        self._producer.produce(
            partition.topic,
            f"{self.name}:{number}:{padding}",
            key=key,
            partition=partition.partition,
            on_delivery=delivered,
        )

    def _on_error(self, error: Any) -> None:
        if error.fatal():
            self.failures.append(f"fatal: {error}")
