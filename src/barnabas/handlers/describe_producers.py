"""DescribeProducers (0): the producer state of a partition: epochs, sequences, open transactions."""

from barnabas.controller.decisions.topic_names import why_invalid
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.log.producer_state import ProducerEntry
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import InvalidTopic, KafkaError
from barnabas.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

PIECES = (Pieces("topics", answers="topics", size=20),)


def handle(replicas: Replicas, context: RequestContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=tuple(
            TopicResponse(
                name=topic.name,
                partitions=tuple(_describe(replicas, topic.name, index) for index in topic.partition_indexes),
            )
            for topic in request.topics
        )
    )


def _describe(replicas: Replicas, topic: str, index: int) -> PartitionResponse:
    try:
        if reason := why_invalid(topic):
            raise InvalidTopic(reason)
        producers = replicas.get(topic, index).log.producers.producers
    except KafkaError as error:
        return PartitionResponse(partition_index=index, error_code=error.code, error_message=str(error))
    return PartitionResponse(
        partition_index=index,
        active_producers=tuple(_state(producer_id, entry) for producer_id, entry in producers.items()),
    )


def _state(producer_id: int, entry: ProducerEntry) -> ProducerState:
    return ProducerState(
        producer_id=producer_id,
        producer_epoch=entry.epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=entry.txn_first_offset,
    )
