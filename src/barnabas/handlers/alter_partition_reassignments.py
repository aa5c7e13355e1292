"""AlterPartitionReassignments (0-1): move a partition to other brokers, or cancel a reassignment in progress."""

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
