"""AlterPartitionReassignments (0-1): name the brokers that shall hold a partition, or call off what is under way."""

from barnabas.controller.reassignments import decide_alter_partition_reassignments
from barnabas.handlers.context import RequestContext
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)


async def handle(
    context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    return await context.broker.controller.decide(lambda image: decide_alter_partition_reassignments(image, request))
