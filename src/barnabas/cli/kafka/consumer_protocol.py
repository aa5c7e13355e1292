"""The two blobs that members of a classic consumer group exchange: their subscription and their assignment.

They belong to the clients; a broker passes them on unread. Numbers are big-endian, a string has an i16 and an array an
i32 length in front; later versions only append fields.
"""

import struct
from collections.abc import Callable
from typing import NamedTuple, TypeVar

T = TypeVar("T")
TopicPartitions = tuple[tuple[str, tuple[int, ...]], ...]


class Subscription(NamedTuple):
    version: int
    topics: tuple[str, ...]
    user_data: bytes | None
    owned: TopicPartitions
    generation_id: int
    rack_id: str | None


class Assignment(NamedTuple):
    partitions: TopicPartitions
    user_data: bytes | None


def decode_subscription(content: bytes) -> Subscription | None:
    """None: not a subscription, so some other protocol's metadata."""
    reader = _Reader(content)
    try:
        version = reader.int16()
        topics = reader.array(reader.string)
        user_data = reader.blob()
        owned = reader.array(reader.topic_partitions) if version >= 1 else ()
        generation_id = reader.int32() if version >= 2 else -1
        rack_id = reader.nullable_string() if version >= 3 else None
    except (struct.error, ValueError):
        return None
    return Subscription(version, topics, user_data, owned, generation_id, rack_id)


def decode_assignment(content: bytes) -> Assignment | None:
    reader = _Reader(content)
    try:
        reader.int16()
        return Assignment(reader.array(reader.topic_partitions), reader.blob())
    except (struct.error, ValueError):
        return None


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    def int16(self) -> int:
        return self._number(">h", 2)

    def int32(self) -> int:
        return self._number(">i", 4)

    def string(self) -> str:
        found = self.nullable_string()
        if found is None:
            raise ValueError("null where a string should be")
        return found

    def nullable_string(self) -> str | None:
        size = self.int16()
        return None if size < 0 else self._take(size).decode()

    def blob(self) -> bytes | None:
        size = self.int32()
        return None if size < 0 else self._take(size)

    def array(self, read: Callable[[], T]) -> tuple[T, ...]:
        count = self.int32()
        if count > len(self._content):
            raise ValueError("more entries than bytes")
        return tuple(read() for _ in range(count))

    def topic_partitions(self) -> tuple[str, tuple[int, ...]]:
        return self.string(), self.array(self.int32)

    def _number(self, layout: str, size: int) -> int:
        (number,) = struct.unpack_from(layout, self._content, self._position)
        self._position += size
        return int(number)

    def _take(self, size: int) -> bytes:
        if self._position + size > len(self._content):
            raise ValueError("the content ends too early")
        self._position += size
        return self._content[self._position - size : self._position]
