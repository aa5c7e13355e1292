"""Transactional requests field by field: the answers to all kinds of producers, in every state of a transaction."""

import datetime
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.records.batch import split_batches
from barnabas.records.control import read_marker
from barnabas.records.record import Record, build_batch
from barnabas.testing import Broker
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

WAIT = datetime.timedelta(seconds=10)
TIMESTAMP = int(time.time() * 1000)
PRODUCE_V1, PRODUCE_V2 = 11, 12
"""The newest version of before transaction.version 2, and the first that adds partitions by itself."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def client(broker: Broker) -> Iterator[Client]:
    with broker.connect() as client:
        yield client


class Producer:
    """A transactional producer by hand, with its own topic of two partitions."""

    def __init__(self, broker: Broker, client: Client) -> None:
        self.client = client
        self.topic = f"topic-{uuid.uuid4().hex[:12]}"
        broker.create_topic(self.topic, partitions=2)
        self.transactional_id = f"id-{uuid.uuid4().hex[:12]}"
        self.init()

    def init(self) -> None:
        self.client.call("find_coordinator", 3, FindCoordinatorRequest(key=self.transactional_id, key_type=1))
        begin = InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout=WAIT)
        answer = self.client.call("init_producer_id", 4, begin)
        assert answer.error_code == ErrorCode.none
        self.id, self.epoch, self.sequence = answer.producer_id, answer.producer_epoch, 0

    def batch(
        self,
        *,
        epoch: int | None = None,
        sequence: int | None = None,
        transactional: bool = True,
        producer_id: int | None = None,
    ) -> bytes:
        return build_batch(
            [Record(0, TIMESTAMP, b"k", b"v")],
            producer_id=self.id if producer_id is None else producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            base_sequence=self.sequence if sequence is None else sequence,
            transactional=transactional,
        )

    def request(self, *batches: bytes, transactional_id: str | None = "own") -> ProduceRequest:
        data = tuple(PartitionProduceData(index=index, records=batch) for index, batch in enumerate(batches))
        return ProduceRequest(
            transactional_id=self.transactional_id if transactional_id == "own" else transactional_id,
            acks=-1,
            timeout=WAIT,
            topic_data=(TopicProduceData(name=self.topic, partition_data=data),),
        )

    def produce(self, *batches: bytes, version: int = PRODUCE_V2, **how: Any) -> list[Any]:
        answer = self.client.call("produce", version, self.request(*batches, **how))
        return [each.error_code for each in answer.responses[0].partition_responses]

    def send(self, *, version: int = PRODUCE_V2) -> None:
        assert self.produce(self.batch(), version=version) == [ErrorCode.none]
        self.sequence += 1

    def add(self, *partitions: int) -> None:
        topics = (AddPartitionsToTxnTopic(name=self.topic, partitions=partitions),)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=topics,
        )
        answer = self.client.call("add_partitions_to_txn", 3, request)
        (topic,) = answer.results_by_topic_v3_and_below
        assert {each.partition_error_code for each in topic.results_by_partition} == {ErrorCode.none}

    def end(self, *, committed: bool, version: int = 5) -> None:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.id,
            producer_epoch=self.epoch,
            committed=committed,
        )
        answer = self.client.call("end_txn", version, request)
        assert answer.error_code == ErrorCode.none
        if version >= 5:
            self.id, self.epoch, self.sequence = answer.producer_id, answer.producer_epoch, 0

    def fetch(self, *, isolation: int, version: int = 12, offset: int = 0) -> Any:
        partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            isolation_level=isolation,
            min_bytes=0,
            max_bytes=1 << 20,
            topics=(FetchTopic(topic=self.topic, partitions=(partition,)),),
        )
        return self.client.call("fetch", version, request).responses[0].partitions[0]

    def latest(self, *, isolation: int) -> int:
        asked = ListOffsetsPartition(partition_index=0, timestamp=-1)
        topics = (ListOffsetsTopic(name=self.topic, partitions=(asked,)),)
        answer = self.client.call(
            "list_offsets", 7, ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics)
        )
        return int(answer.topics[0].partitions[0].offset)

    def described(self) -> Any:
        request = DescribeProducersRequest(topics=(TopicRequest(name=self.topic, partition_indexes=(0,)),))
        (state,) = self.client.call("describe_producers", 0, request).topics[0].partitions[0].active_producers
        return state

    def write_marker(self, *, version: int = 1, **fields: Any) -> ErrorCode:
        topics = (WritableTxnMarkerTopic(name=fields.pop("topic", self.topic), partition_indexes=(0,)),)
        defaults = {"producer_id": self.id, "producer_epoch": self.epoch, "coordinator_epoch": 0}
        marker = WritableTxnMarker(topics=topics, **defaults | fields)
        answer = self.client.call("write_txn_markers", version, WriteTxnMarkersRequest(markers=(marker,)))
        (result,) = answer.markers
        assert result.producer_id == marker.producer_id
        code: ErrorCode = result.topics[0].partitions[0].error_code
        return code


@pytest.fixture
def producer(broker: Broker, client: Client) -> Producer:
    return Producer(broker, client)


# Producing


def test_a_new_client_need_not_add_partitions(producer: Producer) -> None:
    assert producer.produce(producer.batch(), producer.batch()) == [ErrorCode.none] * 2
    producer.sequence = 1
    producer.send()
    producer.end(committed=True)
    assert producer.latest(isolation=1) == 3
    assert producer.epoch == 1


def test_an_older_client_adds_them_first(producer: Producer) -> None:
    refused = ErrorCode.transaction_abortable
    assert producer.produce(producer.batch(), version=PRODUCE_V1) == [refused]
    assert producer.produce(producer.batch(), version=9) == [ErrorCode.invalid_txn_state]
    producer.add(0)
    assert producer.produce(producer.batch(), producer.batch(), version=PRODUCE_V1) == [ErrorCode.none, refused]
    producer.end(committed=False, version=4)
    assert producer.latest(isolation=1) == 2


def test_late_batches_of_an_ended_transaction_are_refused(producer: Producer) -> None:
    producer.add(0)
    producer.send(version=9)
    producer.end(committed=False, version=3)
    assert producer.produce(producer.batch(), version=9) == [ErrorCode.invalid_txn_state]
    producer.send()
    old_epoch = producer.epoch
    producer.end(committed=True)
    assert producer.produce(producer.batch(epoch=old_epoch, sequence=9)) == [ErrorCode.invalid_producer_epoch]
    assert producer.latest(isolation=1) == producer.latest(isolation=0) == 4


def test_an_epoch_that_was_replaced_is_refused_even_where_it_wrote_nothing(producer: Producer) -> None:
    old = producer.epoch
    producer.init()
    assert producer.epoch > old
    for version in (9, PRODUCE_V1, PRODUCE_V2):
        assert producer.produce(producer.batch(epoch=old), version=version) == [ErrorCode.invalid_producer_epoch]


@pytest.mark.parametrize("version", [9, PRODUCE_V1, PRODUCE_V2])
def test_ids_that_do_not_belong_together_are_refused(producer: Producer, version: int) -> None:
    foreign = producer.batch(producer_id=producer.id + 1_000_000)
    assert producer.produce(foreign, version=version) == [ErrorCode.invalid_producer_id_mapping]
    mixed = producer.produce(producer.batch(), producer.batch(epoch=7), version=version)
    assert mixed == [ErrorCode.invalid_producer_id_mapping] * 2
    # Its coordinator may still be loading; every client retries this.
    while (unknown := producer.produce(producer.batch(), version=version, transactional_id="nobody-knows-it")) == [
        ErrorCode.not_enough_replicas
    ]:
        pass
    assert unknown == [ErrorCode.invalid_producer_id_mapping]


def test_a_transactional_batch_needs_a_transactional_id(producer: Producer) -> None:
    refused = producer.produce(producer.batch(), transactional_id=None)
    assert refused == [ErrorCode.transactional_id_authorization_failed]


def test_inside_a_transaction_only_transactional_batches_are_taken(producer: Producer) -> None:
    producer.send()
    assert producer.produce(producer.batch(transactional=False)) == [ErrorCode.invalid_txn_state]
    producer.send()
    producer.end(committed=True)
    assert producer.produce(producer.batch(transactional=False)) == [ErrorCode.none]


def test_sequences_hold_over_requests_that_are_pipelined(producer: Producer) -> None:
    """The first must be verified, which may take a while; the others must not overtake it."""
    for version in (9, PRODUCE_V1, PRODUCE_V2):
        producer.init()
        if version < PRODUCE_V2:
            producer.add(0)
        for sequence in range(5):
            producer.client.send("produce", version, producer.request(producer.batch(sequence=sequence)))
        answers = [producer.client.receive().responses[0].partition_responses[0] for _ in range(5)]
        assert [answer.error_code for answer in answers] == [ErrorCode.none] * 5
        offsets = [answer.base_offset for answer in answers]
        assert offsets == list(range(offsets[0], offsets[0] + 5))
        gap = producer.produce(producer.batch(sequence=9), version=version)
        assert gap == [ErrorCode.out_of_order_sequence_number]
        retry = producer.produce(producer.batch(sequence=4), version=version)
        assert retry == [ErrorCode.none]


def test_each_transaction_of_version_2_begins_with_sequence_0(producer: Producer) -> None:
    producer.send()
    producer.end(committed=True)
    assert producer.produce(producer.batch(sequence=1)) == [ErrorCode.out_of_order_sequence_number]
    producer.send()


def test_bad_batches_are_refused_as_ever(producer: Producer) -> None:
    damaged = bytearray(producer.batch())
    damaged[-1] ^= 1
    assert producer.produce(bytes(damaged), producer.batch()) == [ErrorCode.corrupt_message, ErrorCode.none]
    assert producer.produce(b"short") == [ErrorCode.corrupt_message]
    without_id = build_batch([Record(0, TIMESTAMP, b"k", b"v")], transactional=True)
    assert producer.produce(without_id) == [ErrorCode.invalid_record]


# Reading


@pytest.mark.parametrize("version", [4, 7, 12])
def test_a_fetch_tells_of_aborted_transactions(producer: Producer, version: int) -> None:
    producer.send()
    uncommitted, committed = (producer.fetch(isolation=isolation, version=version) for isolation in (0, 1))
    assert (uncommitted.high_watermark, uncommitted.last_stable_offset) == (1, 0)
    assert uncommitted.aborted_transactions is None
    assert uncommitted.records
    assert (committed.high_watermark, committed.last_stable_offset) == (1, 0)
    assert not committed.records
    assert committed.aborted_transactions == ()
    assert (producer.latest(isolation=0), producer.latest(isolation=1)) == (1, 0)
    aborted_id = producer.id
    producer.end(committed=False)
    producer.send()
    producer.end(committed=True)
    committed = producer.fetch(isolation=1, version=version)
    assert committed.last_stable_offset == committed.high_watermark == 4
    assert [(each.producer_id, each.first_offset) for each in committed.aborted_transactions] == [(aborted_id, 0)]
    batches = list(split_batches(committed.records))
    assert [read_marker(batch) is not None if batch.header.is_control else None for batch in batches] == [
        None,
        True,
        None,
        True,
    ]
    assert producer.fetch(isolation=1, version=version, offset=2).aborted_transactions == ()


def test_a_time_within_an_open_transaction_is_not_found_yet(producer: Producer) -> None:
    def found(isolation: int) -> Any:
        asked = ListOffsetsPartition(partition_index=0, timestamp=TIMESTAMP)
        topics = (ListOffsetsTopic(name=producer.topic, partitions=(asked,)),)
        request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics)
        return producer.client.call("list_offsets", 7, request).topics[0].partitions[0].offset

    producer.send()
    assert (found(0), found(1)) == (0, -1)
    producer.end(committed=True)
    assert (found(0), found(1)) == (0, 0)


# Administration


def test_producers_are_described(producer: Producer) -> None:
    producer.send()
    state = producer.described()
    assert (state.producer_id, state.producer_epoch, state.last_sequence) == (producer.id, 0, 0)
    assert (state.current_txn_start_offset, state.coordinator_epoch, state.last_timestamp) == (0, -1, TIMESTAMP)
    producer.end(committed=True)
    state = producer.described()
    assert (state.producer_epoch, state.last_sequence, state.current_txn_start_offset) == (1, -1, -1)
    assert state.coordinator_epoch >= 0
    for topic, code in (("no-such", ErrorCode.unknown_topic_or_partition), ("?", ErrorCode.invalid_topic_exception)):
        request = DescribeProducersRequest(topics=(TopicRequest(name=topic, partition_indexes=(0,)),))
        answer = producer.client.call("describe_producers", 0, request)
        assert answer.topics[0].partitions[0].error_code == code


def test_a_hanging_transaction_is_aborted_by_hand(producer: Producer) -> None:
    """Like kafka-transactions: with the epoch and the coordinator epoch from DescribeProducers."""
    producer.send()
    assert producer.latest(isolation=1) == 0
    state = producer.described()
    code = producer.write_marker(
        producer_epoch=state.producer_epoch, coordinator_epoch=state.coordinator_epoch, transaction_result=False
    )
    assert code == ErrorCode.none
    assert producer.latest(isolation=1) == 2
    assert producer.described().current_txn_start_offset == -1
    fetched = producer.fetch(isolation=1)
    assert [(each.producer_id, each.first_offset) for each in fetched.aborted_transactions] == [(producer.id, 0)]


def test_markers_of_zombies_are_refused(producer: Producer) -> None:
    producer.send()
    late = {"transaction_result": True, "transaction_version": 2}
    assert producer.write_marker(version=2, **late) == ErrorCode.invalid_producer_epoch
    producer.end(committed=True)
    state = producer.described()
    assert producer.write_marker(producer_epoch=0) == ErrorCode.invalid_producer_epoch
    assert producer.write_marker(producer_epoch=-1) == ErrorCode.invalid_request
    assert producer.write_marker(producer_id=-1) == ErrorCode.invalid_request
    assert producer.write_marker(topic="no-such") == ErrorCode.unknown_topic_or_partition
    epoch = state.coordinator_epoch
    assert producer.write_marker(coordinator_epoch=epoch + 1) == ErrorCode.none
    assert producer.write_marker(coordinator_epoch=epoch) == ErrorCode.transaction_coordinator_fenced
