"""Requests about transactions, and two ways to abort one.

A transaction hangs if it is open in a partition and its coordinator does not know it: then the last stable offset does
not advance, and read_committed consumers wait. It is ended by writing an abort marker, as a coordinator would.
"""

import datetime
import time
from collections.abc import Iterable
from typing import Final, NamedTuple

from barnabas.cli.wire_client import Cluster, Partition, RequestRefused, at_coordinator, by_topic, check
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest

TRANSACTION: Final = 1
"""The kind of coordinator."""
_PARTITIONS_AT_ONCE: Final = 500


class Listed(NamedTuple):
    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


class Described(NamedTuple):
    coordinator: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_ms: int | None
    partitions: list[Partition]


class Producer(NamedTuple):
    partition: Partition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    last_sequence: int
    last_timestamp: int
    start_offset: int | None
    """Of the open transaction."""


@at_coordinator
def list_transactions(
    cluster: Cluster, *, duration_ms: int = -1, pattern: str | None = None, producer_ids: Iterable[int] = ()
) -> list[Listed]:
    found = []
    for broker in cluster.brokers().brokers:
        request = ListTransactionsRequest(
            producer_id_filters=tuple(producer_ids),
            duration_filter=duration_ms,
            transactional_id_pattern=pattern,
        )
        answer = cluster.call("list_transactions", request, node=broker.broker_id)
        check(answer.error_code)
        found += [
            Listed(each.transactional_id, broker.broker_id, each.producer_id, each.transaction_state)
            for each in answer.transaction_states
        ]
    return sorted(found)


@at_coordinator
def describe_transaction(cluster: Cluster, transactional_id: str) -> Described:
    coordinator = cluster.coordinator(transactional_id, kind=TRANSACTION).node_id
    request = DescribeTransactionsRequest(transactional_ids=(transactional_id,))
    answer = cluster.call("describe_transactions", request, node=coordinator)
    (state,) = answer.transaction_states
    check(state.error_code)
    start = state.transaction_start_time
    return Described(
        coordinator=coordinator,
        transactional_id=transactional_id,
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        state=state.transaction_state,
        timeout_ms=state.transaction_timeout // datetime.timedelta(milliseconds=1),
        start_ms=None if start is None else round(start.timestamp() * 1000),
        partitions=[(topic.topic, index) for topic in state.topics for index in topic.partitions],
    )


def describe_producers(
    cluster: Cluster, partitions: Iterable[Partition], *, broker: int | None = None
) -> list[Producer]:
    """From each partition's leader, or from the given broker."""
    places = list(partitions)
    found = []
    for leader, there in ({broker: places} if broker is not None else cluster.by_leader(places)).items():
        if leader is None:
            raise RequestRefused(ErrorCode.unknown_topic_or_partition, f"there is no partition {_named(there[0])}")
        for first in range(0, len(there), _PARTITIONS_AT_ONCE):
            found += _producers_at(cluster, leader, there[first : first + _PARTITIONS_AT_ONCE])
    return found


def _producers_at(cluster: Cluster, broker: int, partitions: list[Partition]) -> list[Producer]:
    topics = tuple(
        TopicRequest(name=topic, partition_indexes=tuple(indexes)) for topic, indexes in by_topic(partitions).items()
    )
    answer = cluster.call("describe_producers", DescribeProducersRequest(topics=topics), node=broker)
    found = []
    for topic in answer.topics:
        for partition in topic.partitions:
            check(partition.error_code, partition.error_message)
            found += [
                Producer(
                    (topic.name, partition.partition_index),
                    each.producer_id,
                    each.producer_epoch,
                    each.coordinator_epoch,
                    each.last_sequence,
                    each.last_timestamp,
                    each.current_txn_start_offset if each.current_txn_start_offset >= 0 else None,
                )
                for each in partition.active_producers
            ]
    return found


def find_hanging(
    cluster: Cluster, partitions: Iterable[Partition], *, older_than_ms: int, broker: int | None = None
) -> list[Producer]:
    """Transactions that are open for too long, and that the coordinator does not know in that partition."""
    now_ms = int(time.time() * 1000)
    candidates = [
        producer
        for producer in describe_producers(cluster, partitions, broker=broker)
        if producer.start_offset is not None and now_ms - producer.last_timestamp > older_than_ms
    ]
    if not candidates:
        return []
    ids = {each.producer_id for each in candidates}
    names = {each.producer_id: each.transactional_id for each in list_transactions(cluster, producer_ids=ids)}
    known = {producer_id: _partitions_of(cluster, name) for producer_id, name in names.items()}
    return [each for each in candidates if each.partition not in known.get(each.producer_id, ())]


def _partitions_of(cluster: Cluster, transactional_id: str) -> list[Partition]:
    try:
        return describe_transaction(cluster, transactional_id).partitions
    except RequestRefused as refused:
        if refused.code == ErrorCode.transactional_id_not_found:
            return []
        raise


def open_transaction(cluster: Cluster, partition: Partition, start_offset: int) -> Producer | None:
    """The producer whose transaction began there."""
    producers = describe_producers(cluster, [partition])
    return next((producer for producer in producers if producer.start_offset == start_offset), None)


def abort(
    cluster: Cluster, partition: Partition, *, producer_id: int, producer_epoch: int, coordinator_epoch: int
) -> None:
    topic, index = partition
    marker = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        # -1: no coordinator has written here yet; the first epoch is 0.
        coordinator_epoch=max(coordinator_epoch, 0),
        transaction_result=False,
        topics=(WritableTxnMarkerTopic(name=topic, partition_indexes=(index,)),),
    )
    (leader,) = cluster.by_leader([partition])
    answer = cluster.call("write_txn_markers", WriteTxnMarkersRequest(markers=(marker,)), node=leader)
    check(answer.markers[0].topics[0].partitions[0].error_code)


@at_coordinator
def force_terminate(cluster: Cluster, transactional_id: str) -> None:
    """As a new producer with this id: aborts the open transaction, and fences the old producer."""
    coordinator = cluster.coordinator(transactional_id, kind=TRANSACTION).node_id
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout=datetime.timedelta(milliseconds=1),
        producer_id=-1,
        producer_epoch=-1,
    )
    while True:
        answer = cluster.call("init_producer_id", request, node=coordinator)
        if answer.error_code != ErrorCode.concurrent_transactions:
            break
        time.sleep(0.1)  # the abort is in progress
    check(answer.error_code)


def partitions_of_topics(cluster: Cluster, topics: Iterable[str] | None = None) -> list[Partition]:
    return [
        (topic.name, partition.partition_index)
        for topic in cluster.topics(topics).values()
        for partition in topic.partitions
    ]


def _named(partition: Partition) -> str:
    return f"{partition[0]}-{partition[1]}"
