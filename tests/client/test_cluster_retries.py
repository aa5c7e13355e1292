"""Which requests are retried, and on which broker: against a scripted listener."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from fake_kafka import FakeKafka, Peer, Scripted

from barnabas.client.cluster import TRANSACTION, Cluster
from barnabas.client.errors import CannotConnect, ConnectionClosed, Refused
from barnabas.client.group_offsets import fetch_offsets
from barnabas.client.properties import client_settings
from barnabas.testing.ports import pick_free_port
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

NONE = ErrorCode.none


def listening(script: Scripted) -> AbstractContextManager[FakeKafka]:
    return FakeKafka(script.serve)


def cluster(listener: FakeKafka, retry_for_s: float = 30) -> Cluster:
    quick = {"retry.backoff.ms": "1", "retry.backoff.max.ms": "5"}
    return Cluster(client_settings({"bootstrap.servers": listener.bootstrap_servers, **quick}), retry_for_s=retry_for_s)


def metadata(port: int, *, leader: int = 1, code: ErrorCode = NONE) -> MetadataResponse:
    partition = MetadataResponsePartition(partition_index=0, leader_id=leader)
    topic = MetadataResponseTopic(name="t", error_code=code, partitions=(partition,))
    broker = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=port)
    return MetadataResponse(brokers=(broker,), topics=(topic,))


def coordinator(port: int, code: ErrorCode = NONE) -> FindCoordinatorResponse:
    found = Coordinator(key="g", node_id=1, host="127.0.0.1", port=port, error_code=code)
    return FindCoordinatorResponse(coordinators=(found,))


def offsets(offset: int, code: ErrorCode = NONE) -> ListOffsetsResponse:
    partition = ListOffsetsPartitionResponse(partition_index=0, offset=offset, error_code=code)
    return ListOffsetsResponse(topics=(ListOffsetsTopicResponse(name="t", partitions=(partition,)),))


def committed(group_code: ErrorCode = NONE, code: ErrorCode = NONE, offset: int = 5) -> OffsetFetchResponse:
    partition = OffsetFetchResponsePartitions(partition_index=0, committed_offset=offset, metadata="", error_code=code)
    topics = (OffsetFetchResponseTopics(name="t", partitions=(partition,)),) if group_code == NONE else ()
    return OffsetFetchResponse(groups=(OffsetFetchResponseGroup(group_id="g", error_code=group_code, topics=topics),))


def run(responses: Callable[[int], dict[str, list[Any]]], ask: Callable[[Cluster], Any]) -> tuple[Any, list[str]]:
    """The result, and the requests that were sent. The responses are built once the listener's port is known."""
    scripts: list[Scripted] = []

    def serve(peer: Peer) -> None:
        if not scripts:
            scripts.append(Scripted(**responses(peer.port)))
        scripts[0].serve(peer)

    with FakeKafka(serve) as listener, cluster(listener) as connected:
        return ask(connected), scripts[0].asked


def test_a_read_is_asked_again_when_the_connection_breaks() -> None:
    found, asked = run(lambda port: {"metadata": [None, None, metadata(port)]}, lambda each: each.topics(["t"]))
    assert list(found) == ["t"]
    assert asked == ["metadata"] * 3


def test_what_must_not_happen_twice_is_asked_once() -> None:
    script = Scripted(create_topics=[None])
    with listening(script) as listener, cluster(listener) as connected:
        with pytest.raises(ConnectionClosed):
            connected.call("create_topics", CreateTopicsRequest())
        assert script.asked == ["create_topics"]


def test_a_partition_without_leader_is_waited_for() -> None:
    def responses(port: int) -> dict[str, list[Any]]:
        return {"metadata": [metadata(port, leader=-1), metadata(port, leader=-1), metadata(port)]}

    found, asked = run(responses, lambda each: each.leader("t", 0))
    assert (found, len(asked)) == (1, 3)


def test_a_partition_that_stays_without_leader_is_told() -> None:
    script = Scripted(metadata=[metadata(1, leader=-1)])
    with (
        listening(script) as listener,
        cluster(listener, retry_for_s=0.05) as connected,
        pytest.raises(Refused, match=r"t-0 has no leader; .* check that all brokers run"),
    ):
        connected.leader("t", 0)


def test_a_topic_that_one_may_not_see_is_told() -> None:
    script = Scripted(metadata=[metadata(1, code=ErrorCode.topic_authorization_failed)])
    with (
        listening(script) as listener,
        cluster(listener) as connected,
        pytest.raises(Refused, match="may not see the topic t; ask an administrator"),
    ):
        connected.topics(["t"])


def test_offsets_are_asked_for_at_the_next_leader() -> None:
    def responses(port: int) -> dict[str, list[Any]]:
        moving = offsets(-1, ErrorCode.not_leader_or_follower)
        return {"metadata": [metadata(port)], "list_offsets": [None, moving, offsets(8)]}

    found, asked = run(responses, lambda each: each.offsets([("t", 0)], -1))
    assert found["t", 0].offset == 8
    assert asked.count("list_offsets") == 3
    assert asked.count("metadata") >= 3


def test_offsets_that_cannot_be_had_are_told_with_their_error() -> None:
    def responses(port: int) -> dict[str, list[Any]]:
        return {"metadata": [metadata(port)], "list_offsets": [offsets(-1, ErrorCode.not_leader_or_follower)]}

    def ask(connected: Cluster) -> ErrorCode:
        connected.retry_for_s = 0.05
        return connected.offsets([("t", 0)], -1)["t", 0].error

    assert run(responses, ask)[0] is ErrorCode.not_leader_or_follower


def test_a_coordinator_that_moves_or_loads_is_asked_again() -> None:
    def responses(port: int) -> dict[str, list[Any]]:
        return {
            "metadata": [metadata(port)],
            "find_coordinator": [coordinator(port, ErrorCode.coordinator_not_available), coordinator(port)],
            "offset_fetch": [
                committed(ErrorCode.not_coordinator),
                committed(ErrorCode.coordinator_load_in_progress),
                None,
                committed(),
            ],
        }

    found, asked = run(responses, lambda each: fetch_offsets(each, "g", None))
    assert found["t", 0].offset == 5
    assert asked.count("offset_fetch") == 4
    assert asked.count("find_coordinator") == 5


def test_a_known_coordinator_is_not_looked_for_again() -> None:
    def responses(port: int) -> dict[str, list[Any]]:
        return {"find_coordinator": [coordinator(port)], "offset_fetch": [committed()]}

    def ask(connected: Cluster) -> None:
        fetch_offsets(connected, "g", None)
        fetch_offsets(connected, "g", None)

    assert run(responses, ask)[1] == ["find_coordinator", "offset_fetch", "offset_fetch"]


def test_a_coordinator_that_stays_busy_is_told() -> None:
    script = Scripted(find_coordinator=[coordinator(1, ErrorCode.coordinator_not_available)])
    with listening(script) as listener, cluster(listener, retry_for_s=0.05) as connected:
        with pytest.raises(Refused) as caught:
            connected.coordinator("an-id", kind=TRANSACTION)
        assert caught.value.code is ErrorCode.coordinator_not_available


def test_offsets_that_a_transaction_is_about_to_change_are_waited_for() -> None:
    def responses(port: int) -> dict[str, list[Any]]:
        unstable = committed(code=ErrorCode.unstable_offset_commit, offset=-1)
        return {"find_coordinator": [coordinator(port)], "offset_fetch": [unstable, unstable, committed()]}

    found, asked = run(responses, lambda each: fetch_offsets(each, "g", [("t", 0)], require_stable=True))
    assert found["t", 0].offset == 5
    assert asked.count("offset_fetch") == 3


def test_a_group_that_one_may_not_read_is_told() -> None:
    def responses(port: int) -> dict[str, list[Any]]:
        refused = committed(ErrorCode.group_authorization_failed)
        return {"find_coordinator": [coordinator(port)], "offset_fetch": [refused]}

    with pytest.raises(Refused, match="the group g cannot be read: GROUP_AUTHORIZATION_FAILED; ask an administrator"):
        run(responses, lambda each: fetch_offsets(each, "g", None))


def test_a_broker_at_a_wrong_address_is_told_with_what_to_look_at() -> None:
    script = Scripted(metadata=[metadata(pick_free_port())])
    with listening(script) as listener, cluster(listener, retry_for_s=0) as connected:
        with pytest.raises(CannotConnect, match=r"says that broker 1 is at 127\.0\.0\.1:\d+: .*advertised\.listeners"):
            connected.connection(1)
        with pytest.raises(CannotConnect, match="there is no broker 5"):
            connected.connection(5)
