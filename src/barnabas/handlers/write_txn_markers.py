"""WriteTxnMarkers (1-2): end transactions in partitions that this broker leads.

Sent by transaction coordinators on other brokers, and by administrators to abort a transaction that no coordinator
knows any more (`kafka-transactions abort`). Since version 2 a marker says which transaction.version its transaction
had: from 2 on its epoch is above that of the transaction's records.

Unlike in Kafka, which answers once per producer id, each marker of the request has its own result. A negative producer
id or epoch is INVALID_REQUEST; Kafka writes a marker that ends nothing.
"""

from collections.abc import Awaitable

from barnabas.coordinator.core.ports import EndMarker, TransactionMarkers
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.model import TopicPartition
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    ErrorCode,
    InvalidRequest,
    KafkaError,
    NotCoordinator,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

PIECES = (Pieces("markers", answers="markers", size=20),)


async def handle(
    replicas: Replicas, markers: TransactionMarkers, context: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    """Writes all markers before waiting for the first."""
    written = [
        (
            marker,
            [
                (
                    topic.name,
                    [_write(replicas, markers, marker, topic.name, index) for index in topic.partition_indexes],
                )
                for topic in marker.topics
            ],
        )
        for marker in request.markers
    ]
    return WriteTxnMarkersResponse(
        markers=tuple(
            [
                WritableTxnMarkerResult(
                    producer_id=marker.producer_id,
                    topics=tuple(
                        [
                            WritableTxnMarkerTopicResult(
                                name=name, partitions=tuple([await _result(*outcome) for outcome in outcomes])
                            )
                            for name, outcomes in topics
                        ]
                    ),
                )
                for marker, topics in written
            ]
        )
    )


def _write(
    replicas: Replicas, markers: TransactionMarkers, marker: WritableTxnMarker, topic: str, index: int
) -> tuple[int, Awaitable[None] | KafkaError | None]:
    try:
        if marker.producer_id < 0 or marker.producer_epoch < 0:
            raise InvalidRequest(f"producer {marker.producer_id} with epoch {marker.producer_epoch} does not exist")
        try:
            replicas.get(topic, index)
        except NotLeaderOrFollower as error:
            raise UnknownTopicOrPartition(str(error)) from error
        end = EndMarker(
            marker.producer_id,
            marker.producer_epoch,
            marker.coordinator_epoch,
            marker.transaction_result,
            marker.transaction_version,
        )
        return index, markers.write(TopicPartition(topic, index), end)
    except KafkaError as error:
        return index, error


async def _result(index: int, outcome: Awaitable[None] | KafkaError | None) -> WritableTxnMarkerPartitionResult:
    error = outcome if isinstance(outcome, KafkaError) else None
    if isinstance(outcome, Awaitable):
        try:
            await outcome
        except KafkaError as failure:
            error = failure
    if isinstance(error, CoordinatorNotAvailable | CoordinatorLoadInProgress | NotCoordinator):
        error = NotLeaderOrFollower(str(error))  # which coordinators understand, of an offsets partition too
    return WritableTxnMarkerPartitionResult(
        partition_index=index, error_code=error.code if error is not None else ErrorCode.none
    )
