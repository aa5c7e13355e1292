"""A long list is cut into pieces, and the answers are joined into one."""

from collections import Counter
from operator import attrgetter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from barnabas.handlers.pieces import Pieces
from barnabas.wire.codec import decode_request, encode_request
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from barnabas.wire.messages.offset_delete import OffsetDeleteResponse

OFFSETS = Pieces("topics", parts="partitions", answers="topics", size=10)
TOPICS = Pieces("topics", answers="topics", size=3, together=attrgetter("name"))
GROUPS = Pieces("groups", answers="groups", size=3)


def list_offsets(topics: list[tuple[str, int]]) -> Any:
    """As dispatch gets it: decoded."""
    request = ListOffsetsRequest(
        replica_id=-1,
        topics=tuple(
            ListOffsetsTopic(name=name, partitions=tuple(ListOffsetsPartition(partition_index=i) for i in range(count)))
            for name, count in topics
        ),
    )
    return decode_request("list_offsets", 9, encode_request("list_offsets", 9, request), 0)


def answer(request: Any) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=tuple(
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=tuple(
                    ListOffsetsPartitionResponse(partition_index=each.partition_index) for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


@given(st.lists(st.integers(0, 35), max_size=12).map(lambda counts: [(f"t{i}", n) for i, n in enumerate(counts)]))
def test_pieces_are_small_and_their_answers_are_the_answer(topics: list[tuple[str, int]]) -> None:
    request = list_offsets(topics)
    pieces = OFFSETS.cut(request)
    if pieces is None:
        assert sum(count + 1 for _, count in topics) <= 10
        return
    assert all(sum(len(topic.partitions) for topic in piece.topics) <= 10 for piece in pieces)
    assert all(piece.replica_id == -1 for piece in pieces)
    assert OFFSETS.join([answer(piece) for piece in pieces]) == answer(request)


def test_a_short_request_stays_whole() -> None:
    assert GROUPS.cut(decoded_groups("abc")) is None
    assert GROUPS.cut(decoded_groups("")) is None


def test_a_long_list_of_names_is_cut() -> None:
    pieces = GROUPS.cut(decoded_groups("abcdefgh"))
    assert pieces is not None
    assert [piece.groups for piece in pieces] == [("a", "b", "c"), ("d", "e", "f"), ("g", "h")]
    responses = [
        DescribeGroupsResponse(groups=tuple(DescribedGroup(group_id=name) for name in piece.groups)) for piece in pieces
    ]
    assert [group.group_id for group in GROUPS.join(responses).groups] == list("abcdefgh")


def decoded_groups(names: str) -> Any:
    request = DescribeGroupsRequest(groups=tuple(names))
    return decode_request("describe_groups", 5, encode_request("describe_groups", 5, request), 0)


@given(st.lists(st.sampled_from("abcdef"), min_size=4, max_size=30))
def test_items_that_must_stay_together_do(names: list[str]) -> None:
    request = CreateTopicsRequest(topics=tuple(CreatableTopic(name=name) for name in names))
    pieces = TOPICS.cut(decode_request("create_topics", 7, encode_request("create_topics", 7, request), 0))
    assert pieces is not None
    homes = Counter(name for piece in pieces for name in {topic.name for topic in piece.topics})
    assert set(homes.values()) == {1}
    assert sorted(topic.name for piece in pieces for topic in piece.topics) == sorted(names)


def test_an_error_of_the_whole_request_is_told_whichever_piece_had_it() -> None:
    pieces = Pieces("topics", parts="partitions", answers="topics", size=10)
    refused = OffsetDeleteResponse(error_code=ErrorCode.group_id_not_found)
    assert pieces.join([OffsetDeleteResponse(), refused]).error_code is ErrorCode.group_id_not_found
