"""ElectLeaders (0-2): elect the preferred replica, or any live one for a partition without a leader (unclean).

With one broker there is rarely a choice: its partitions have a leader, and the answer is ELECTION_NOT_NEEDED. If the
request names no partitions, the answer lists only those where an election took place.
"""

from barnabas.controller.elections import decide_elect_leaders
from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


async def handle(context: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
    try:
        return await context.broker.controller.decide(lambda image: decide_elect_leaders(image, request))
    except KafkaError as error:
        return ElectLeadersResponse(
            error_code=error.code,
            replica_election_results=tuple(
                ReplicaElectionResult(
                    topic=topic.topic,
                    partition_result=tuple(
                        PartitionResult(partition_id=index, error_code=error.code, error_message=str(error))
                        for index in topic.partitions
                    ),
                )
                for topic in request.topic_partitions or ()
            ),
        )
