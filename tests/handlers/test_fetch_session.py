"""Incremental fetch sessions: partitions named once, only changes sent, a bounded cache."""

import random
import uuid

import pytest

from barnabas.handlers.fetch_session import EVICTABLE_AFTER_MS, FetchPlan, FetchSessions
from barnabas.wire.errors import FetchSessionIdNotFound, FetchSessionTopicIdError, InvalidFetchSessionEpoch
from barnabas.wire.fetch_response import FetchedPartition
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

TOPIC = uuid.UUID(int=7)


def sessions(slots: int = 10) -> FetchSessions:
    return FetchSessions(slots=slots, random_source=random.Random(1))


def request(
    partitions: range | list[int] = range(0), *, session_id: int = 0, epoch: int = 0, forget: tuple[int, ...] = ()
) -> FetchRequest:
    asked = tuple(FetchPartition(partition=index, fetch_offset=10, partition_max_bytes=100) for index in partitions)
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=(FetchTopic(topic_id=TOPIC, partitions=asked),) if asked else (),
        forgotten_topics_data=(ForgottenTopic(topic_id=TOPIC, partitions=forget),) if forget else (),
    )


def answered(plan: FetchPlan, records: dict[int, bytes] | None = None, high_watermark: int = 10) -> list[int]:
    """The partitions in an answer."""
    answers = [
        FetchedPartition(
            partition.index, 0, high_watermark, high_watermark, 0, records=(records or {}).get(partition.index, b"")
        )
        for partition in plan.partitions
    ]
    return [partition.partition for topic in plan.topics(answers, {}) for partition in topic.partitions]


def test_a_session_remembers_its_partitions_and_sends_only_changes() -> None:
    cache = sessions()
    first = cache.plan(request(range(3)), version=18, now_ms=0)
    assert first.session_id != 0
    assert answered(first) == [0, 1, 2]
    second = cache.plan(request(session_id=first.session_id, epoch=1), version=18, now_ms=0)
    assert [partition.index for partition in second.partitions] == [0, 1, 2]
    assert answered(second, {1: b"records"}) == [1]
    third = cache.plan(request(session_id=first.session_id, epoch=2), version=18, now_ms=0)
    assert [partition.index for partition in third.partitions] == [0, 2, 1], (
        "one that returned records moves to the end"
    )
    assert answered(third) == []
    fourth = cache.plan(request(session_id=first.session_id, epoch=3), version=18, now_ms=0)
    assert answered(fourth, high_watermark=11) == [0, 2, 1], "a new high watermark is sent"


def test_partitions_can_be_added_changed_and_forgotten() -> None:
    cache = sessions()
    first = cache.plan(request(range(2)), version=18, now_ms=0)
    second = cache.plan(request([2], session_id=first.session_id, epoch=1, forget=(0,)), version=18, now_ms=0)
    assert [partition.index for partition in second.partitions] == [1, 2]


def test_partitions_are_sent_again_after_an_error() -> None:
    cache = sessions()
    first = cache.plan(request(range(1)), version=18, now_ms=0)
    refused = first.topics([FetchedPartition(0, error_code=3)], {})
    assert refused[0].partitions[0].error_code == 3
    second = cache.plan(request(session_id=first.session_id, epoch=1), version=18, now_ms=0)
    assert answered(second) == [0]


def test_unknown_sessions_stale_epochs_and_mixed_names_and_ids_are_refused() -> None:
    cache = sessions()
    with pytest.raises(FetchSessionIdNotFound):
        cache.plan(request(session_id=5, epoch=1), version=18, now_ms=0)
    session_id = cache.plan(request(range(1)), version=18, now_ms=0).session_id
    with pytest.raises(InvalidFetchSessionEpoch):
        cache.plan(request(session_id=session_id, epoch=2), version=18, now_ms=0)
    with pytest.raises(FetchSessionTopicIdError):
        cache.plan(request(session_id=session_id, epoch=1), version=12, now_ms=0)


def test_old_versions_and_final_epochs_have_no_session() -> None:
    cache = sessions()
    assert cache.plan(request(range(1)), version=6, now_ms=0).session_id == 0
    session_id = cache.plan(request(range(1)), version=18, now_ms=0).session_id
    assert cache.plan(request(range(1), session_id=session_id, epoch=-1), version=18, now_ms=0).session_id == 0
    assert len(cache) == 0


def test_a_full_cache_creates_no_session_until_one_is_stale() -> None:
    cache = sessions(slots=1)
    assert cache.plan(request(range(1)), version=18, now_ms=0).session_id != 0
    assert cache.plan(request(range(1)), version=18, now_ms=1).session_id == 0
    assert cache.plan(request(range(1)), version=18, now_ms=EVICTABLE_AFTER_MS + 1).session_id != 0
    assert len(cache) == 1
