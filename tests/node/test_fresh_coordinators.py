"""The first requests to a coordinator, sent while it is loading: no client has to retry."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from barnabas.testing import Broker
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from barnabas.wire.messages.sync_group import SyncGroupRequest

GROUP, TRANSACTION = 0, 1
NOT_YET = {
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
    ErrorCode.not_coordinator,
}

FIFTY_PARTITIONS = {"offsets.topic.num.partitions": 50, "transaction.state.log.num.partitions": 50}
"""As a server has them: enough for requests to come before the last is loaded."""

Request = tuple[str, int, Any]


def group_requests(group: str) -> Iterator[Request]:
    seconds = timedelta(seconds=10)
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
    yield (
        "join_group",
        9,
        JoinGroupRequest(
            group_id=group,
            session_timeout=seconds,
            rebalance_timeout=seconds,
            member_id="",
            protocol_type="consumer",
            protocols=(protocol,),
        ),
    )
    yield "sync_group", 5, SyncGroupRequest(group_id=group, member_id="m", generation_id=1, assignments=())
    yield "heartbeat", 4, HeartbeatRequest(group_id=group, member_id="m", generation_id=1)
    position = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = OffsetCommitRequestTopic(name="t", partitions=(position,))
    yield "offset_commit", 8, OffsetCommitRequest(group_id=group, topics=(topic,))
    yield "offset_fetch", 9, OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group),))
    yield "leave_group", 5, LeaveGroupRequest(group_id=group, members=(MemberIdentity(member_id="m"),))
    yield "describe_groups", 5, DescribeGroupsRequest(groups=(group,))
    yield "consumer_group_describe", 1, ConsumerGroupDescribeRequest(group_ids=(group,))
    joining = {"member_id": "m", "member_epoch": 0, "subscribed_topic_names": ("t",)}
    yield (
        "consumer_group_heartbeat",
        1,
        ConsumerGroupHeartbeatRequest(
            group_id=f"{group}-848", rebalance_timeout=seconds, topic_partitions=(), **joining
        ),
    )
    yield "share_group_heartbeat", 1, ShareGroupHeartbeatRequest(group_id=f"{group}-share", **joining)
    yield "list_groups", 5, ListGroupsRequest()


def transaction_requests(transactional_id: str) -> Iterator[Request]:
    yield (
        "init_producer_id",
        5,
        InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout=timedelta(seconds=10)),
    )
    producer = {"producer_id": 7, "producer_epoch": 0}
    topic = AddPartitionsToTxnTopic(name="t", partitions=(0,))
    yield (
        "add_partitions_to_txn",
        3,
        AddPartitionsToTxnRequest(v3_and_below_transactional_id=transactional_id, v3_and_below_topics=(topic,)),
    )
    yield "end_txn", 5, EndTxnRequest(transactional_id=transactional_id, committed=True, **producer)
    yield "list_transactions", 1, ListTransactionsRequest()


def error_codes(message: Any) -> set[ErrorCode]:
    """All error codes anywhere in a response."""
    if isinstance(message, ErrorCode):
        return {message}
    parts: tuple[Any, ...] = ()
    if isinstance(message, tuple):
        parts = message
    elif hasattr(message, "__slots__"):
        parts = tuple(getattr(message, name) for name in message.__slots__)
    return {code for part in parts for code in error_codes(part)}


def test_codes_are_found_wherever_they_stand() -> None:
    answer = ("x", (ErrorCode.none, ((ErrorCode.not_coordinator,),)))
    assert error_codes(answer) == {ErrorCode.none, ErrorCode.not_coordinator}


def send_all(client: Client, requests: list[Request]) -> dict[str, set[ErrorCode]]:
    """One after the other without waiting; the error codes that each API answered with."""
    for request in requests:
        client.send(*request)
    found: dict[str, set[ErrorCode]] = {}
    for name, _, _ in requests:
        found.setdefault(name, set()).update(error_codes(client.receive()))
    return found


@pytest.mark.parametrize(
    ("key_type", "requests_of"), [(GROUP, group_requests), (TRANSACTION, transaction_requests)], ids=["groups", "txn"]
)
def test_the_first_requests_are_answered_when_the_coordinator_is_loaded(key_type: int, requests_of: Any) -> None:
    requests = [request for number in range(20) for request in requests_of(f"g{number}")]
    with Broker(properties=FIFTY_PARTITIONS) as broker:
        broker.create_topic("t")
        with broker.connect() as client:
            client.call("find_coordinator", 6, FindCoordinatorRequest(key_type=key_type, coordinator_keys=("g0",)))
            fresh = send_all(client, requests)
        broker.restart()
        with broker.connect() as client:
            restarted = send_all(client, requests)
    for answered in (fresh, restarted):
        assert {name: codes & NOT_YET for name, codes in answered.items() if codes & NOT_YET} == {}
