"""The hand-written encoders write the same bytes as kio, for every version."""

import datetime
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.api_table import FETCH, PRODUCE
from barnabas.wire.codec import encode_response
from barnabas.wire.errors import ErrorCode
from barnabas.wire.fetch_response import FetchAnswer, FetchedPartition, FetchedTopic, encode_fetch_response
from barnabas.wire.messages import fetch, produce
from barnabas.wire.produce_response import ProduceAnswer, ProducedPartition, ProducedTopic, encode_produce_response

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
names = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=200)
error_codes = st.sampled_from(list(ErrorCode)).map(int)
# Up to the year 9999: kio carries this time as a datetime.
times_ms = st.just(-1) | st.integers(0, 253_402_300_799_000)
pairs = st.tuples(int32, int32)

produced_partitions = st.builds(
    ProducedPartition, int32, error_codes, int64, times_ms, int64, st.none() | names, st.none() | pairs
)
produce_answers = st.builds(
    ProduceAnswer,
    st.lists(
        st.builds(ProducedTopic, names, st.none() | st.uuids(), st.lists(produced_partitions, max_size=3)), max_size=3
    ),
    st.integers(0, 2**31 - 1),
)
fetched_partitions = st.builds(
    FetchedPartition,
    int32,
    error_codes,
    int64,
    int64,
    int64,
    st.none() | st.lists(st.tuples(int64, int64), max_size=3),
    int32,
    st.binary(max_size=300),
    st.none() | pairs,
    st.none() | st.tuples(int32, int64),
)
fetch_answers = st.builds(
    FetchAnswer,
    st.lists(
        st.builds(FetchedTopic, names, st.none() | st.uuids(), st.lists(fetched_partitions, max_size=3)), max_size=3
    ),
    error_codes,
    int32,
    st.integers(0, 2**31 - 1),
)


def produce_shape(answer: ProduceAnswer) -> produce.ProduceResponse:
    return produce.ProduceResponse(
        throttle_time=datetime.timedelta(milliseconds=answer.throttle_time_ms),
        responses=tuple(
            produce.TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=tuple(
                    produce.PartitionProduceResponse(
                        index=partition.partition,
                        error_code=ErrorCode(partition.error_code),
                        base_offset=partition.base_offset,
                        log_append_time=None
                        if partition.log_append_time_ms < 0
                        else datetime.datetime.fromtimestamp(0, datetime.UTC)
                        + datetime.timedelta(milliseconds=partition.log_append_time_ms),
                        log_start_offset=partition.log_start_offset,
                        error_message=partition.error_message,
                        current_leader=produce.LeaderIdAndEpoch()
                        if partition.leader is None
                        else produce.LeaderIdAndEpoch(leader_id=partition.leader[0], leader_epoch=partition.leader[1]),
                    )
                    for partition in topic.partitions
                ),
            )
            for topic in answer.topics
        ),
    )


def fetch_shape(answer: FetchAnswer) -> fetch.FetchResponse:
    return fetch.FetchResponse(
        throttle_time=datetime.timedelta(milliseconds=answer.throttle_time_ms),
        error_code=ErrorCode(answer.error_code),
        session_id=answer.session_id,
        responses=tuple(
            fetch.FetchableTopicResponse(
                topic=topic.name,
                topic_id=topic.topic_id,
                partitions=tuple(
                    fetch.PartitionData(
                        partition_index=partition.partition,
                        error_code=ErrorCode(partition.error_code),
                        high_watermark=partition.high_watermark,
                        last_stable_offset=partition.last_stable_offset,
                        log_start_offset=partition.log_start_offset,
                        aborted_transactions=None
                        if partition.aborted is None
                        else tuple(
                            fetch.AbortedTransaction(producer_id=producer_id, first_offset=first_offset)
                            for producer_id, first_offset in partition.aborted
                        ),
                        preferred_read_replica=partition.preferred_read_replica,
                        records=partition.records,
                        current_leader=fetch.LeaderIdAndEpoch()
                        if partition.leader is None
                        else fetch.LeaderIdAndEpoch(leader_id=partition.leader[0], leader_epoch=partition.leader[1]),
                        diverging_epoch=fetch.EpochEndOffset()
                        if partition.diverging is None
                        else fetch.EpochEndOffset(epoch=partition.diverging[0], end_offset=partition.diverging[1]),
                    )
                    for partition in topic.partitions
                ),
            )
            for topic in answer.topics
        ),
    )


def without_default_tags(answer: ProduceAnswer | FetchAnswer) -> bool:
    """kio leaves a tagged field out when it has its default value; ours is only given when it says something."""
    return all(
        partition.leader != (-1, -1) and getattr(partition, "diverging", None) != (-1, -1)
        for topic in answer.topics
        for partition in topic.partitions
    )


@pytest.mark.parametrize("version", range(PRODUCE.version_min, PRODUCE.version_max + 1))
@given(answer=produce_answers.filter(without_default_tags))
def test_produce_response_equals_kio(version: int, answer: ProduceAnswer) -> None:
    assert b"".join(encode_produce_response(answer, version)) == encode_response(
        "produce", version, produce_shape(answer)
    )


@pytest.mark.parametrize("version", range(FETCH.version_min, FETCH.version_max + 1))
@given(answer=fetch_answers.filter(without_default_tags))
def test_fetch_response_equals_kio(version: int, answer: FetchAnswer) -> None:
    assert b"".join(encode_fetch_response(answer, version)) == encode_response("fetch", version, fetch_shape(answer))


def test_a_large_answer_keeps_its_records_as_separate_buffers() -> None:
    records = bytes(100_000)
    topic = FetchedTopic("t", uuid.uuid4(), [FetchedPartition(0, records=records)])
    assert any(buffer is records for buffer in encode_fetch_response(FetchAnswer([topic]), 18))
