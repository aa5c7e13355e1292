"""What the clients write and read, in one shape for all of them."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

Headers = tuple[tuple[str, bytes | None], ...]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

# Generous: a deadline that passes is a failure, never a measurement.
DEADLINE_S = 30.0


class Sent(NamedTuple):
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp: int | None = None
    """None: the client's own clock."""


class Seen(NamedTuple):
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Client(Protocol):
    """A Kafka client under test: what it can write, its writes with acknowledgements, and its reads."""

    name: str

    def writable(self, records: Iterable[Sent]) -> list[Sent]:
        """The records as this client can write them."""

    def write(self, servers: str, topic: str, records: Sequence[Sent], *, codec: str = "none") -> list[int]:
        """Write and wait for the acknowledgements: the offset of each record."""

    def read(self, servers: str, topic: str, ends: Mapping[int, int]) -> list[Seen]:
        """Everything from the first offset up to these end offsets; within a partition in the order it came."""


def sample_records(partitions: int, *, per_partition: int = 40) -> list[Sent]:
    """Keys and values with and without content, binary and long, headers twice and empty, times in both directions."""
    base_ms = int(time.time() * 1000) - 60_000
    records = []
    for number in range(partitions * per_partition):
        partition, index = number % partitions, number // partitions
        key = None if index % 3 == 0 else f"key-{index}".encode()
        value = (b"", None, bytes(range(32, 124)) * 9, "Käfer 🪲".encode(), f"value {index}".encode())[index % 5]
        headers: Headers = (("trace", b"abc"), ("trace", f"{index}".encode()), ("empty", b"")) if index % 2 else ()
        if value is None and key is None:
            key = b"tombstone"
        timestamp = base_ms + (index * 7 if index % 4 else -index)
        records.append(Sent(partition, key, value, headers, timestamp))
    return records


def ends_of(records: Iterable[Sent]) -> dict[int, int]:
    """The end offsets of a fresh topic that holds just these."""
    ends: dict[int, int] = {}
    for record in records:
        ends[record.partition] = ends.get(record.partition, 0) + 1
    return ends


def in_order(seen: Iterable[Seen]) -> list[Seen]:
    """By partition, each in the order it was read: the order between partitions means nothing."""
    return sorted(seen, key=lambda record: record.partition)


def wait_until(condition: Callable[[], object], what: str, *, deadline_s: float = DEADLINE_S) -> None:
    """Wait for a condition that another process brings about."""
    give_up = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < give_up, f"not within {deadline_s:.0f} s: {what}"
        time.sleep(0.01)
