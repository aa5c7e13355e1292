"""AlterPartitionReassignments (0-1): move a partition to other brokers, or cancel a reassignment in progress."""

from barnabas.controller.controller import Controller
from barnabas.controller.decisions.reassignments import decide_alter_partition_reassignments
from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import KafkaError, NoReassignmentInProgress
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


async def handle(
    controller: Controller, context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    topics = await controller.decide(lambda image: decide_alter_partition_reassignments(image, request))
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        responses=tuple(
            ReassignableTopicResponse(
                name=topic.name,
                partitions=tuple(
                    _result(wanted.partition_index, error)
                    for wanted, error in zip(topic.partitions, outcomes, strict=True)
                ),
            )
            for topic, outcomes in zip(request.topics, topics, strict=True)
        ),
    )


def _result(index: int, error: KafkaError | None) -> ReassignablePartitionResponse:
    if error is None:
        return ReassignablePartitionResponse(partition_index=index)
    # Kafka gives no message where the code is enough.
    message = None if isinstance(error, NoReassignmentInProgress) else str(error)
    return ReassignablePartitionResponse(partition_index=index, error_code=error.code, error_message=message)
