"""DescribeQuorum (0-2): the voters and the leader of the metadata log, and how far each replica has caught up.

In a quorum of one, the only voter leads and is always caught up. Version 2 adds the voters' endpoints, as they were
written when the quorum was formatted; nothing listens there yet.
"""

from typing import Final

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Runtime
from barnabas.model import METADATA_TOPIC
from barnabas.raft.node import RaftNode
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionDataResponse,
    ReplicaState,
    TopicDataResponse,
)

_METADATA: Final = (METADATA_TOPIC, (0,))


def handle(
    runtime: Runtime, quorum: RaftNode, context: RequestContext, request: DescribeQuorumRequest
) -> DescribeQuorumResponse:
    wanted = [(topic.topic_name, tuple(each.partition_index for each in topic.partitions)) for topic in request.topics]
    if wanted != [_METADATA]:
        return DescribeQuorumResponse(
            error_message="",
            topics=tuple(
                TopicDataResponse(topic_name=name, partitions=tuple(_unknown(index) for index in indexes))
                for name, indexes in wanted
            ),
        )
    return DescribeQuorumResponse(
        error_message="",
        topics=(TopicDataResponse(topic_name=METADATA_TOPIC, partitions=(_partition(runtime, quorum),)),),
        nodes=tuple(
            Node(
                node_id=voter.key.id,
                listeners=tuple(
                    Listener(name=endpoint.name, host=endpoint.host, port=endpoint.port) for endpoint in voter.endpoints
                ),
            )
            for voter in quorum.voters.voters
        ),
    )


def _partition(runtime: Runtime, quorum: RaftNode) -> PartitionDataResponse:
    now_ms = runtime.clock.now_ms()
    return PartitionDataResponse(
        partition_index=0,
        error_message="",
        leader_id=quorum.leader_id,
        leader_epoch=quorum.epoch,
        high_watermark=quorum.high_watermark,
        current_voters=tuple(
            ReplicaState(
                replica_id=voter.key.id,
                replica_directory_id=voter.key.directory_id,
                log_end_offset=quorum.log_end_offset,
                last_fetch_timestamp=now_ms,
                last_caught_up_timestamp=now_ms,
            )
            for voter in quorum.voters.voters
        ),
    )


def _unknown(index: int) -> PartitionDataResponse:
    return PartitionDataResponse(
        partition_index=index,
        error_code=ErrorCode.unknown_topic_or_partition,
        error_message="This server does not host this topic-partition.",
    )
