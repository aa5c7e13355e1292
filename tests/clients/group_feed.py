"""Writes to all partitions of a topic, remembers what was acknowledged, and checks what a group has read."""

import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from client_confluent import deliver
from client_records import Sent
from group_process import Group, Processed


class Feed:
    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self._servers = servers
        self._topic = topic
        self._partitions = partitions
        self.acknowledged: list[Processed] = []

    def send(self, count: int = 30) -> None:
        values = [f"{number}-{uuid.uuid4().hex[:8]}" for number in range(count)]
        records = [Sent(index % self._partitions, None, value.encode()) for index, value in enumerate(values)]
        reports = deliver(self._servers, self._topic, records)
        self.acknowledged += [
            Processed(report.partition(), report.offset(), value) for report, value in zip(reports, values, strict=True)
        ]

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """Keep writing until the block ends."""
        enough = Event()

        def write() -> None:
            while not enough.wait(0.05):
                self.send(2 * self._partitions)

        writer = Thread(target=write)
        writer.start()
        try:
            yield
        finally:
            enough.set()
            writer.join()

    def wait_until_read_by(self, members: Group) -> None:
        values = {each.value for each in self.acknowledged}
        members.wait(lambda: members.values() >= values, "all that was acknowledged is processed")

    def assert_read_once_by(self, members: Group) -> None:
        self.wait_until_read_by(members)
        repeated = Counter(members.processed()) - Counter(self.acknowledged)
        assert not repeated, f"processed more often than acknowledged: {repeated}"
        assert Counter(members.processed()) == Counter(self.acknowledged)
        self.assert_in_order(members)

    def assert_read_by(self, members: Group) -> None:
        """Everything and nothing else; records may repeat only if a member read but could not commit them."""
        self.wait_until_read_by(members)
        assert set(members.processed()) == set(self.acknowledged)
        self.assert_in_order(members)

    def assert_in_order(self, members: Group) -> None:
        """Each member saw each partition's records in their order."""
        for member in members.members:
            for partition in range(self._partitions):
                offsets = [each.offset for each in member.processed if each.partition == partition]
                assert offsets == sorted(offsets)
