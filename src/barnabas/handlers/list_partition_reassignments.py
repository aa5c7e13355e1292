"""ListPartitionReassignments (0): the partitions that are being moved between brokers."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster
from barnabas.metadata.image import TopicImage
from barnabas.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def handle(
    cluster: Cluster, context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    by_name = cluster.image.topics.by_name
    if request.topics is None:
        wanted = [(topic, tuple(topic.partitions)) for topic in by_name.values()]
    else:
        wanted = [(by_name[each.name], each.partition_indexes) for each in request.topics if each.name in by_name]
    ongoing = ((topic.name, _ongoing(topic, indexes)) for topic, indexes in wanted)
    return ListPartitionReassignmentsResponse(
        topics=tuple(OngoingTopicReassignment(name=name, partitions=moving) for name, moving in ongoing if moving)
    )


def _ongoing(topic: TopicImage, indexes: tuple[int, ...]) -> tuple[OngoingPartitionReassignment, ...]:
    return tuple(
        OngoingPartitionReassignment(
            partition_index=index,
            replicas=partition.replicas,
            adding_replicas=partition.adding_replicas,
            removing_replicas=partition.removing_replicas,
        )
        for index in indexes
        if (partition := topic.partitions.get(index)) is not None
        and (partition.adding_replicas or partition.removing_replicas)
    )
