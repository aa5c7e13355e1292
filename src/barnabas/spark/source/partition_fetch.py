"""A fetch from one partition: the request, and what the answer says about it.

Version 13 names topics by id, so that a topic that was deleted and created again is not taken for the old one; version
12 (Kafka 2.7) uses names. Later versions add nothing for a consumer of one partition. There is no fetch session: each
request is complete.
"""

import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from barnabas.client.errors import BadAnswer
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

BY_NAME, BY_ID = 12, 13
"""Versions."""

_CONSUMER: Final = -1


def fetch_request(
    topic: str,
    topic_id: UUID | None,
    partition: FetchPartition,
    *,
    isolation_level: int,
    max_wait_ms: int,
    min_bytes: int,
    max_bytes: int,
) -> FetchRequest:
    return FetchRequest(
        replica_id=_CONSUMER,
        max_wait=datetime.timedelta(milliseconds=max_wait_ms),
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        topics=(FetchTopic(topic=topic, topic_id=topic_id, partitions=(partition,)),),
    )


class Answer(NamedTuple):
    error: ErrorCode
    throttle_ms: int
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: tuple[tuple[int, int], ...] = ()
    """Producer id and first offset."""
    records: memoryview = memoryview(b"")
    """A part of the frame."""


def answer_of(response: Any, partition: int) -> Answer:
    """What a response says about the partition; BadAnswer if it is about another."""
    throttle_ms = response.throttle_time // datetime.timedelta(milliseconds=1)
    if (
        response.error_code is not ErrorCode.none or not response.responses
    ):  # the whole request was refused, or held back by a quota
        return Answer(response.error_code, throttle_ms)
    data = next((each for topic in response.responses for each in topic.partitions), None)
    if data is None or data.partition_index != partition:
        raise BadAnswer(
            f"the broker's answer to a Fetch does not contain partition {partition}, which was asked for",
            "check that it is a Kafka broker, and that no proxy in between changes bytes",
        )
    aborted = tuple((each.producer_id, each.first_offset) for each in data.aborted_transactions or ())
    return Answer(
        data.error_code,
        throttle_ms,
        data.high_watermark,
        data.last_stable_offset,
        data.log_start_offset,
        aborted,
        data.records or memoryview(b""),
    )
