"""Rare answers of a leader: delayed, truncated, empty, refused."""

from collections.abc import Sequence
from typing import Any

import pytest
from scripted_leader import TOPIC, ScriptedLeader, Step

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.client.properties import client_settings
from barnabas.client.settings import READ_UNCOMMITTED
from barnabas.records.record import Record, build_batch
from barnabas.spark.arrow.decode import UnreadableRecords
from barnabas.spark.errors import UserError
from barnabas.spark.source.fetch import FetchSettings, read_range
from barnabas.spark.source.ranges import OffsetRange
from barnabas.wire.errors import ErrorCode
from barnabas.wire.fetch_response import FetchAnswer, FetchedPartition

THROTTLED = FetchAnswer([], throttle_time_ms=10)
IMPATIENT = FetchSettings(poll_timeout_ms=600, partition_max_bytes=100, max_bytes=100)


def batch(first: int, last: int) -> bytes:
    return build_batch([Record(timestamp=0, value=b"v")] * (last - first + 1), base_offset=first)


def good(first: int, last: int) -> FetchedPartition:
    return FetchedPartition(0, high_watermark=100, log_start_offset=0, records=batch(first, last))


def empty(high_watermark: int = 100) -> FetchedPartition:
    return FetchedPartition(0, high_watermark=high_watermark, log_start_offset=0)


def refused(code: ErrorCode) -> FetchedPartition:
    return FetchedPartition(0, error_code=code)


def read(steps: Sequence[Step], end: int, *, is_tiered: bool = False) -> tuple[list[int], list[Any]]:
    """The offsets that were read, and the fetch requests."""
    with ScriptedLeader(steps, ends_at=100, is_tiered=is_tiered) as leader:
        settings = client_settings(
            {"bootstrap.servers": leader.bootstrap_servers, "retry.backoff.ms": "1", "retry.backoff.max.ms": "2"}
        )
        with Cluster(settings) as cluster:
            found = read_range(
                cluster,
                OffsetRange(TOPIC, 0, 0, end),
                columns=("offset",),
                isolation_level=READ_UNCOMMITTED,
                fetch=IMPATIENT,
                fail_on_data_loss=True,
            )
            return [offset for one in found for offset in one["offset"].to_pylist()], leader.asked


def test_what_passes_is_waited_out() -> None:
    passing = [
        refused(ErrorCode.not_leader_or_follower),
        refused(ErrorCode.unknown_leader_epoch),
        refused(ErrorCode.offset_not_available),
        THROTTLED,
        empty(high_watermark=0),
        refused(ErrorCode.unknown_topic_id),
    ]
    offsets, asked = read([*passing, good(0, 4), *passing, good(5, 9)], 10)
    assert offsets == list(range(10))
    assert [one.fetch_offset for one in asked] == [0] * 7 + [5] * 7
    assert {one.current_leader_epoch for one in asked} == {4}


def test_what_does_not_pass_is_told() -> None:
    with pytest.raises(Refused, match="scripted-0 cannot be read: TOPIC_AUTHORIZATION_FAILED"):
        read([refused(ErrorCode.topic_authorization_failed)], 10)
    with pytest.raises(Refused, match="NOT_LEADER_OR_FOLLOWER"):
        read([refused(ErrorCode.not_leader_or_follower)], 10)


def test_a_batch_that_was_cut_off_is_asked_for_whole() -> None:
    whole = good(0, 40)
    offsets, asked = read([whole._replace(records=whole.records[:100]), whole], 41)
    assert offsets == list(range(41))
    assert [one.partition_max_bytes for one in asked] == [100, len(whole.records)]
    with pytest.raises(UnreadableRecords, match="not a complete batch"):
        read([whole._replace(records=whole.records[:100])], 41)


def test_offsets_before_those_that_were_asked_for_end_the_read() -> None:
    with pytest.raises(UnreadableRecords, match="sent offsets up to 4 when asked for 5"):
        read([good(0, 4), good(0, 4)], 10)


def test_the_end_of_a_log_that_compaction_has_emptied_is_the_end() -> None:
    offsets, asked = read([good(0, 4), empty()], 90)
    assert offsets == list(range(5))
    assert 3 <= len(asked) < 20


def test_nothing_from_a_log_whose_records_are_elsewhere_is_an_error() -> None:
    """Tiered storage that is slow answers like a hole."""
    with pytest.raises(UserError, match=r"Nothing came from scripted-0 at offset 5 .*reach from 0 to 100"):
        read([good(0, 4), empty()], 90, is_tiered=True)
