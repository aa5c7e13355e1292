"""A long request is handled in pieces, and later requests of its connection wait."""

import time

from barnabas.testing import Broker
from barnabas.testing.client import Client, create_topic
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

TOPIC = GROUP = "long-requests"
PARTITIONS = 1000
LAST = PARTITIONS - 1
GIVE_UP_S = 30


def commit(partitions: range, offset: int) -> OffsetCommitRequest:
    wanted = tuple(
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
        for index in partitions
    )
    return OffsetCommitRequest(group_id=GROUP, topics=(OffsetCommitRequestTopic(name=TOPIC, partitions=wanted),))


def errors(response: object) -> set[ErrorCode]:
    return {one.error_code for topic in getattr(response, "topics", ()) for one in topic.partitions}


def wait_for_coordinator(client: Client) -> None:
    assert client.call("find_coordinator", 3, FindCoordinatorRequest(key=GROUP)).error_code == ErrorCode.none
    give_up = time.monotonic() + GIVE_UP_S
    while errors(client.call("offset_commit", 8, commit(range(1), 0))) != {ErrorCode.none}:
        assert time.monotonic() < give_up, "the coordinator does not finish loading"


def test_a_short_request_does_not_overtake_a_long_one(barnabas_broker: Broker) -> None:
    with barnabas_broker.connect() as client:
        create_topic(client, TOPIC, partitions=PARTITIONS)
        wait_for_coordinator(client)
        client.send("offset_commit", 8, commit(range(PARTITIONS), 1))
        client.send("offset_commit", 8, commit(range(LAST, PARTITIONS), 2))
        first = client.receive()
        assert [len(topic.partitions) for topic in first.topics] == [PARTITIONS]
        assert errors(first) == errors(client.receive()) == {ErrorCode.none}
        asked = OffsetFetchRequestTopic(name=TOPIC, partition_indexes=(0, LAST))
        answer = client.call("offset_fetch", 5, OffsetFetchRequest(group_id=GROUP, topics=(asked,)))
        assert [one.committed_offset for one in answer.topics[0].partitions] == [1, 2]
