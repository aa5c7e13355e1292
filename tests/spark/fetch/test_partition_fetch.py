"""What a reader makes of a leader's answer; the bytes are those that the broker sends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.errors import BadAnswer
from barnabas.spark.source.partition_fetch import Answer, answer_of
from barnabas.wire.codec import decode_response_in_place
from barnabas.wire.errors import ErrorCode
from barnabas.wire.fetch_response import FetchAnswer, FetchedPartition, FetchedTopic, encode_fetch_response


def read(answer: FetchAnswer, version: int) -> Answer:
    body = b"".join(encode_fetch_response(answer, version))
    return answer_of(decode_response_in_place("fetch", version, memoryview(body)), 3)


@given(
    st.integers(-1, 1 << 60),
    st.lists(st.tuples(st.integers(0, 1 << 60), st.integers(0, 1 << 60)), max_size=200),
    st.binary(max_size=300),
    st.sampled_from([12, 13]),
)
def test_answers_are_read_as_they_are_written(
    offset: int, aborted: list[tuple[int, int]], records: bytes, version: int
) -> None:
    partition = FetchedPartition(3, 0, offset, offset, offset, aborted, records=records)
    answer = read(FetchAnswer([FetchedTopic("t" * 200, None, [partition])]), version)
    assert answer == Answer(ErrorCode.none, 0, offset, offset, offset, tuple(aborted), memoryview(records))


def test_a_throttled_answer_has_no_partitions() -> None:
    assert read(FetchAnswer([], throttle_time_ms=70), 12) == Answer(ErrorCode.none, 70)


def test_another_partition_than_the_one_that_was_asked_for() -> None:
    with pytest.raises(BadAnswer, match="does not contain partition 3"):
        read(FetchAnswer([FetchedTopic("t", None, [FetchedPartition(4, 0, 0, 0, 0, None, records=b"")])]), 12)
