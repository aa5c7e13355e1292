"""Other activity while the broker is killed: a group that reads and commits, topics that are created and deleted."""

import threading
from collections.abc import Iterable
from random import Random

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as Position
from kill_writers import QUICK_RETURN

from barnabas.model import TopicPartition
from barnabas.testing.client import Client, create_topic
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.metadata import MetadataRequest

GROUP = "followers"


class Follower:
    """A group member: the records it has read must never change, its committed offsets must never go back."""

    def __init__(self, servers: str, topics: list[str]) -> None:
        self.seen: dict[tuple[TopicPartition, int], bytes] = {}
        """(partition, offset): value"""
        self.committed: dict[TopicPartition, int] = {}
        """The last acknowledged commit of each partition."""
        self.failures: list[str] = []
        self._servers = servers
        self._topics = topics
        self._committing = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower")

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        consumer = Consumer(
            {
                **QUICK_RETURN,
                "bootstrap.servers": self._servers,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "check.crcs": True,
                "fetch.wait.max.ms": 20,
                "on_commit": self._on_commit,
            }
        )
        consumer.subscribe(self._topics)
        try:
            while not self._stop.is_set():
                messages = consumer.consume(500, timeout=0.02)
                for message in messages:
                    if message.error() is None:
                        place = TopicPartition(message.topic(), message.partition())
                        self._note(place, message.offset(), message.value())
                # One at a time: of two under way, librdkafka may repeat the first after the second was answered.
                if messages and not self._committing:
                    self._commit(consumer)
        finally:
            consumer.close()

    def _commit(self, consumer: Consumer) -> None:
        try:
            consumer.commit(asynchronous=True)
            self._committing = True
        except KafkaException as error:
            if error.args[0].name() != "_NO_OFFSET":
                self.failures.append(f"commit: {error}")

    def _note(self, partition: TopicPartition, offset: int, value: bytes) -> None:
        before = self.seen.setdefault((partition, offset), value)
        if before != value:
            self.failures.append(f"offset {offset} of {partition} was {before!r} and is now {value!r}")

    def _on_commit(self, error: object, positions: Iterable[Position]) -> None:
        self._committing = False
        if error is None:
            for each in positions:
                if each.error is None and each.offset >= 0:
                    self.committed[TopicPartition(each.topic, each.partition)] = each.offset


def committed_offsets(servers: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    consumer = Consumer({**QUICK_RETURN, "bootstrap.servers": servers, "group.id": GROUP})
    try:
        answer = consumer.committed([Position(*partition) for partition in partitions], timeout=20)
    finally:
        consumer.close()
    return {TopicPartition(each.topic, each.partition): max(each.offset, 0) for each in answer}


class TopicChurn:
    """Creates and deletes topics, and remembers what was acknowledged."""

    def __init__(self, port: int, seed: int) -> None:
        self.created: set[str] = set()
        self.deleted: set[str] = set()
        self.doomed: set[str] = set()
        """Their deletion was requested; those in `deleted` were acknowledged."""
        self.failures: list[str] = []
        self._port = port
        self._rng = Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="topic-churn")
        self._count = 0

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with Client("127.0.0.1", self._port) as client:
                    while not self._stop.wait(self._rng.uniform(0.005, 0.03)):
                        self._change(client)
            except ConnectionError:  # the broker is down: try again shortly
                self._stop.wait(0.01)
            except Exception as error:  # would otherwise end this thread unseen
                self.failures.append(f"{type(error).__name__}: {error}")
                return

    def _change(self, client: Client) -> None:
        alive = sorted(self.created - self.doomed)
        if alive and self._rng.random() < 0.3:
            name = self._rng.choice(alive)
            self.doomed.add(name)
            answer = client.call("delete_topics", 6, DeleteTopicsRequest(topics=(DeleteTopicState(name=name),)))
            (result,) = answer.responses
            if result.error_code:
                self.failures.append(f"{name} was not deleted: {result.error_message}")
            self.deleted.add(name)
        else:
            # Never the same name twice: whether an unanswered creation happened is not known.
            self._count += 1
            name = f"churn-{self._count}"
            create_topic(client, name, partitions=self._rng.randint(1, 3))
            self.created.add(name)


def topics_and_epochs(port: int) -> tuple[set[str], dict[TopicPartition, int]]:
    """The names of all topics, and the leader epochs of their partitions."""
    with Client("127.0.0.1", port) as client:
        answer = client.call("metadata", 12, MetadataRequest(topics=None))
    epochs = {
        TopicPartition(topic.name, partition.partition_index): partition.leader_epoch
        for topic in answer.topics
        for partition in topic.partitions
    }
    return {topic.name for topic in answer.topics}, epochs
