"""The hand-written encoders write the same bytes as the codec, for every version."""

import datetime
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.api_table import FETCH, PRODUCE, PRODUCE_FLEXIBLE_SINCE
from barnabas.wire.codec import encode_response
from barnabas.wire.errors import ErrorCode
from barnabas.wire.fetch_response import FetchAnswer, FetchedPartition, FetchedTopic, encode_fetch_response
from barnabas.wire.frame import response_prefix
from barnabas.wire.messages import fetch, produce
from barnabas.wire.primitives import compact_string, legacy_string
from barnabas.wire.produce_response import PlainAnswer

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
names = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=200)
error_codes = st.sampled_from(list(ErrorCode)).map(int)
# Up to the year 9999: kio carries this time as a datetime.
times_ms = st.just(-1) | st.integers(0, 253_402_300_799_000)
pairs = st.tuples(int32, int32)

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


def without_default_tags(answer: FetchAnswer) -> bool:
    """kio leaves a tagged field out when it has its default value; ours is only given when it says something."""
    return all(
        partition.leader != (-1, -1) and partition.diverging != (-1, -1)
        for topic in answer.topics
        for partition in topic.partitions
    )


@pytest.mark.parametrize("version", range(PRODUCE.version_min, PRODUCE.version_max + 1))
@given(
    name=names,
    topic_id=st.uuids(),
    partition=int32,
    correlation_id=int32,
    base_offset=int64,
    log_start_offset=int64,
    throttle_ms=st.integers(0, 2**31 - 1),
)
def test_the_plain_answer_to_produce_equals_that_of_the_codec(
    version: int,
    name: str,
    topic_id: uuid.UUID,
    partition: int,
    correlation_id: int,
    base_offset: int,
    log_start_offset: int,
    throttle_ms: int,
) -> None:
    flexible = version >= PRODUCE_FLEXIBLE_SINCE
    encoded_name = compact_string(name) if flexible else legacy_string(name)
    answer = PlainAnswer(version, topic_id.bytes if version >= 13 else encoded_name, partition)
    only = produce.PartitionProduceResponse(index=partition, base_offset=base_offset, log_start_offset=log_start_offset)
    topic = produce.TopicProduceResponse(name=name, topic_id=topic_id, partition_responses=(only,))
    body = encode_response("produce", version, produce.ProduceResponse(responses=(topic,)))
    expected = response_prefix(correlation_id, len(body), tagged=flexible) + body
    assert answer.frame(correlation_id, base_offset, log_start_offset) == expected
    throttled = answer.throttled(correlation_id, base_offset, log_start_offset, throttle_ms)
    throttle_time = datetime.timedelta(milliseconds=throttle_ms)
    body = encode_response("produce", version, produce.ProduceResponse(responses=(topic,), throttle_time=throttle_time))
    assert throttled == response_prefix(correlation_id, len(body), tagged=flexible) + body


@pytest.mark.parametrize("version", range(FETCH.version_min, FETCH.version_max + 1))
@given(answer=fetch_answers.filter(without_default_tags))
def test_fetch_response_equals_that_of_the_codec(version: int, answer: FetchAnswer) -> None:
    assert b"".join(encode_fetch_response(answer, version)) == encode_response("fetch", version, fetch_shape(answer))


def test_a_large_answer_keeps_its_records_as_separate_buffers() -> None:
    records = bytes(100_000)
    topic = FetchedTopic("t", uuid.uuid4(), [FetchedPartition(0, records=records)])
    assert any(buffer is records for buffer in encode_fetch_response(FetchAnswer([topic]), 18))
