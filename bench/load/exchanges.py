"""What one connection sends and receives, again and again: the same frame, or frames that follow from the answers."""

import socket
import struct
from typing import Final, Protocol
from uuid import UUID

from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from bench.frames import framed
from bench.load.answers import expect_success
from bench.sockets import Refused, check_error_code, round_trip


class Exchange(Protocol):
    @property
    def frame(self) -> bytes | bytearray:
        """What to send next."""

    @property
    def completed(self) -> int:
        """How many round trips, or transactions, have succeeded."""

    def begin(self, connection: socket.socket) -> None:
        """Send whatever must come first."""

    def answered(self, answer: bytes) -> bytes | bytearray:
        """Take an answer, or at least its first bytes, and return the next frame."""

    def verify(self, answer: bytes) -> None:
        """Raise if the answer to `frame` has an error anywhere in it. It takes longer than `answered` may."""


class Repeated:
    """The same frame every time. Only the last answers of a turn are checked: see `bench.load.turns`."""

    def __init__(self, frame: bytes) -> None:
        self.frame = frame
        self.completed = 0

    def begin(self, connection: socket.socket) -> None:
        pass

    def answered(self, answer: bytes) -> bytes:
        self.completed += 1
        return self.frame

    def verify(self, answer: bytes) -> None:
        expect_success(self.frame, answer)


_SESSION_VERSION: Final = 17
"""The newest that names nothing but topic ids, and what consumers of Apache Kafka 4 send."""
_SESSION_ID: Final = 0x01020304  # no other field of a request has these values
_SESSION_EPOCH: Final = 0x05060708
_ERROR_POSITION: Final = 4 + 4 + 1 + 4  # after size, correlation id, tags, throttle time
_TOPIC_COUNT_POSITION: Final = _ERROR_POSITION + 2 + 4
_PARTITION_MAX_BYTES: Final = 1 << 20


class FetchSession:
    """Incremental fetches of a session that includes all partitions of a topic (KIP-227).

    Each request of the session mentions `changed` partitions, as a consumer does that has read on in them, and must be
    answered with records of these partitions only.
    """

    def __init__(self, topic_id: UUID, partitions: int, changed: int) -> None:
        self.completed = 0
        self._opening = framed("fetch", _SESSION_VERSION, _session_fetch(topic_id, range(partitions), 0, 0))
        mentioned = range(partitions)[:changed]
        request = _session_fetch(topic_id, mentioned, _SESSION_ID, _SESSION_EPOCH)
        self.frame = bytearray(framed("fetch", _SESSION_VERSION, request))
        self._place = self.frame.index(struct.pack(">ii", _SESSION_ID, _SESSION_EPOCH))
        self._topics_and_one = 2 if changed else 1
        self._session_id = 0
        self._epoch = 0

    def begin(self, connection: socket.socket) -> None:
        answer = round_trip(connection, self._opening)
        check_error_code(answer, _ERROR_POSITION)
        (self._session_id,) = struct.unpack_from(">i", answer, _ERROR_POSITION + 2)
        if not self._session_id:
            raise Refused("the server made no fetch session")
        self._next()

    def answered(self, answer: bytes) -> bytearray:
        check_error_code(answer, _ERROR_POSITION)
        if answer[_TOPIC_COUNT_POSITION] != self._topics_and_one:
            raise Refused(f"an incremental fetch was answered with {answer[_TOPIC_COUNT_POSITION] - 1} topics")
        self.completed += 1
        self._next()
        return self.frame

    def verify(self, answer: bytes) -> None:
        expect_success(self.frame, answer)

    def _next(self) -> None:
        self._epoch += 1
        struct.pack_into(">ii", self.frame, self._place, self._session_id, self._epoch)


def _session_fetch(topic_id: UUID, partitions: range, session_id: int, epoch: int) -> FetchRequest:
    wanted = tuple(FetchPartition(partition=each, partition_max_bytes=_PARTITION_MAX_BYTES) for each in partitions)
    return FetchRequest(
        max_bytes=50 << 20,
        session_id=session_id,
        session_epoch=epoch,
        topics=(FetchTopic(topic_id=topic_id, partitions=wanted),) if wanted else (),
    )
