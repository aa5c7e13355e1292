"""Encodes produce requests without copying batches.

The generated writer copies every batch three times. Here a request is a list of buffers, and only small ones are
joined. All versions from 3 on; a test compares each with the generated writer.
"""

import uuid
from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Final

from barnabas.wire.api_table import PRODUCE_FLEXIBLE_SINCE

TOPIC_IDS_SINCE: Final = 13
TRANSACTION_V2_SINCE: Final = 12
"""From this version on, the broker adds the partition of a batch to its transaction (KIP-890)."""

# Copying less than this costs less than another call to the socket.
_JOIN_BELOW_BYTES: Final = 32 * 1024

_INT16, _INT32 = Struct(">h"), Struct(">i")
_ACKS_AND_TIMEOUT: Final = Struct(">hi")
_NO_TAGS: Final = b"\0"

Buffer = bytes | memoryview
Batches = Mapping[str, Sequence[tuple[int, memoryview]]]
"""By topic: pairs of a partition and its batch."""


def produce_request(
    version: int,
    batches: Batches,
    *,
    acks: int,
    timeout_ms: int,
    transactional_id: str | None = None,
    topic_ids: Mapping[str, uuid.UUID] | None = None,
) -> list[Buffer]:
    """The body. `topic_ids` is needed from version 13 on, which has no names."""
    flexible = version >= PRODUCE_FLEXIBLE_SINCE
    pieces = _Pieces()
    pieces.add(_string(transactional_id, flexible), _ACKS_AND_TIMEOUT.pack(acks, timeout_ms))
    pieces.add(_count(len(batches), flexible))
    for topic, partitions in batches.items():
        if version >= TOPIC_IDS_SINCE:
            pieces.add((topic_ids or {})[topic].bytes)
        else:
            pieces.add(_string(topic, flexible))
        pieces.add(_count(len(partitions), flexible))
        for index, batch in partitions:
            pieces.add(_INT32.pack(index), _count(len(batch), flexible), batch, _NO_TAGS if flexible else b"")
        pieces.add(_NO_TAGS if flexible else b"")
    pieces.add(_NO_TAGS if flexible else b"")
    return pieces.joined()


class _Pieces:
    """Buffers in order; small neighbours are joined."""

    def __init__(self) -> None:
        self._done: list[Buffer] = []
        self._small: list[Buffer] = []

    def add(self, *buffers: Buffer) -> None:
        for buffer in buffers:
            if len(buffer) < _JOIN_BELOW_BYTES:
                self._small.append(buffer)
            else:
                self._close_small()
                self._done.append(buffer)

    def joined(self) -> list[Buffer]:
        self._close_small()
        return self._done

    def _close_small(self) -> None:
        if self._small:
            self._done.append(b"".join(self._small))
            self._small = []


def _string(text: str | None, flexible: bool) -> bytes:
    if text is None:
        return b"\0" if flexible else _INT16.pack(-1)
    data = text.encode()
    return (_unsigned(len(data) + 1) if flexible else _INT16.pack(len(data))) + data


def _count(count: int, flexible: bool) -> bytes:
    """The length of an array, or of bytes."""
    return _unsigned(count + 1) if flexible else _INT32.pack(count)


def _unsigned(value: int) -> bytes:
    target = bytearray()
    while value > 0x7F:
        target.append(value & 0x7F | 0x80)
        value >>= 7
    target.append(value)
    return bytes(target)
