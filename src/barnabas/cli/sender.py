"""A librdkafka producer for `barnabas produce` and `kafka-console-producer` that counts deliveries."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.connection import REQUEST_TIMEOUT_S, Connection, failure, unknown_topic
from barnabas.cli.errors import CommandFailed, show
from barnabas.cli.interruptible import interruptible
from barnabas.cli.output import plural, say
from barnabas.cli.partitioners import LIBRDKAFKA_NAMES, Choose, Partitioner, round_robin, sticky

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message
    from confluent_kafka.admin import TopicMetadata

# How long an interrupted command waits for records in flight.
INTERRUPTED_FLUSH_S = 2.0
# How long to wait for a topic that the broker creates on demand.
TOPIC_WAIT_S = 5.0


class Sender:
    """Counts delivered records, and keeps the first error."""

    def __init__(self, connection: Connection, topic: str, config: dict[str, object]) -> None:
        self.topic = topic
        self.failed = 0
        self.partitions = 0
        """Of the topic; set by `find_topic`."""
        self._producer = connection.producer(config)
        self._delivered: Counter[int] = Counter()
        self._first_error: KafkaError | None = None

    def known_topics(self) -> list[str]:
        """Does not create topics, unlike a request for one name."""
        return list(self._metadata(None))

    def find_topic(self, wait_s: float = TOPIC_WAIT_S) -> None:
        """Requests its metadata by name, which creates it if the broker does that."""
        deadline = time.monotonic() + wait_s
        while not (partitions := self._metadata(self.topic)[self.topic].partitions):
            if time.monotonic() > deadline:
                raise unknown_topic(self.topic, self.known_topics())
            time.sleep(0.05)
        self.partitions = len(partitions)
        # librdkafka requests a producer id after each metadata response, if a broker is connected, and otherwise waits
        # half a second. After its first response it closes the bootstrap connection; a second one avoids the wait.
        self._metadata(self.topic)

    def chooser(self, partitioner: Partitioner) -> Choose:
        if partitioner in LIBRDKAFKA_NAMES:
            return lambda size: -1
        if partitioner is Partitioner.round_robin:
            return round_robin(self.partitions)
        return sticky(self.partitions, random.Random())

    def fixed(self, partition: int) -> Choose:
        if not 0 <= partition < self.partitions:
            raise CommandFailed(
                f"{self.topic} has no partition {partition}", hint=f"its partitions are 0 to {self.partitions - 1}"
            )
        return lambda size: partition

    def send(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
        choose: Choose,
    ) -> None:
        from confluent_kafka import KafkaException

        partition = choose(len(value or b"") + len(key or b""))
        while True:
            try:
                self._producer.produce(
                    self.topic, value, key, partition=partition, headers=list(headers), on_delivery=self._on_delivery
                )
            except BufferError:  # librdkafka's queue is full: let deliveries make room
                self._producer.poll(0.1)
            except KafkaException as error:  # refused at once, for example because it is too large
                self._note(error.args[0])
                return
            else:
                self._producer.poll(0)
                return

    def finish(self, timeout_s: float | None = None) -> None:
        """Wait for all deliveries, in small steps so that Ctrl-C works."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._producer.flush(0.1) and (deadline is None or time.monotonic() < deadline):
            pass

    def report(self, elapsed_s: float) -> None:
        delivered = sum(self._delivered.values())
        where = plural(len(self._delivered), "partition")
        say(f"{plural(delivered, 'record')} sent to {self.topic} ({where}) in {elapsed_s:.2f} s")
        self.report_failures()

    def report_failures(self) -> None:
        if self._first_error is not None:
            reason = failure(self._first_error)
            show(CommandFailed(f"{plural(self.failed, 'record')} not delivered: {reason.message}", hint=reason.hint))

    def _on_delivery(self, error: "KafkaError | None", message: "Message") -> None:
        if error is not None:
            self._note(error)
        else:
            self._delivered[message.partition() or 0] += 1

    def _metadata(self, topic: str | None) -> "dict[str, TopicMetadata]":
        from confluent_kafka import KafkaException

        try:
            found = interruptible(lambda: self._producer.list_topics(topic, timeout=REQUEST_TIMEOUT_S))
        except KafkaException as error:
            raise failure(error.args[0]) from error
        topics: dict[str, TopicMetadata] = found.topics
        return topics

    def _note(self, error: "KafkaError") -> None:
        self.failed += 1
        self._first_error = self._first_error or error
