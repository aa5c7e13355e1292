"""Fetch, without and with sessions. No request waits for records: `max_wait` is 0."""

from collections.abc import Callable, Sequence
from typing import Final

from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from bench.admin import make_topic, topic_id_of
from bench.frames import batch_of
from bench.load import bare_produce
from bench.load.exchanges import FetchSession
from bench.request_kinds.kind import EQUAL, RequestKind, repeated
from bench.request_kinds.topics import PARTITIONS, TOPIC, WIDE_PARTITIONS, WIDE_TOPIC

_CHANGING_TOPIC: Final = "requests-changing"
_LARGE_TOPIC: Final = "requests-large"
_LARGE_BATCHES: Final = 60
"""Of 16 KB: just less than the megabyte that is requested, so that both servers answer with all of them."""


def _fetch(topic: str, partitions: Sequence[int], max_bytes: int) -> FetchRequest:
    wanted = tuple(FetchPartition(partition=each, partition_max_bytes=max_bytes) for each in partitions)
    return FetchRequest(max_bytes=50 << 20, topics=(FetchTopic(topic=topic, partitions=wanted),))


def one_record(_: int) -> list[FetchRequest]:
    return [_fetch(TOPIC, [partition], 1) for partition in range(PARTITIONS)]


def _nothing_of_many(_: int) -> list[FetchRequest]:
    return [_fetch(WIDE_TOPIC, range(WIDE_PARTITIONS), 1 << 20)]


def _megabyte(port: int) -> list[FetchRequest]:
    make_topic(port, _LARGE_TOPIC)
    bare_produce.pump(port, _LARGE_TOPIC, batch_of(146, 100), _LARGE_BATCHES)
    return [_fetch(_LARGE_TOPIC, [0], 1 << 20)]


def _session(topic: str, changed: int) -> Callable[[int, int], list[FetchSession]]:
    def exchanges(port: int, connections: int) -> list[FetchSession]:
        if topic == _CHANGING_TOPIC:
            make_topic(port, topic, WIDE_PARTITIONS)
            bare_produce.pump(port, topic, batch_of(1, 100), 1)
        topic_id = topic_id_of(port, topic)
        return [FetchSession(topic_id, WIDE_PARTITIONS, changed) for _ in range(connections)]

    return exchanges


KINDS: Final = (
    RequestKind("Fetch 12 of one small record", repeated("fetch", 12, one_record), EQUAL),
    RequestKind("Fetch 12 of 100 empty partitions", repeated("fetch", 12, _nothing_of_many), EQUAL),
    RequestKind("Fetch 17, session of 100, nothing new", _session(WIDE_TOPIC, 0), EQUAL),
    RequestKind("Fetch 17, session of 100, one changed", _session(_CHANGING_TOPIC, 1), EQUAL),
    RequestKind("Fetch 12 of 1 MB, 16 KB batches", repeated("fetch", 12, _megabyte), EQUAL),
)
