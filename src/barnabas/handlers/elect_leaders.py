"""ElectLeaders (0-2): elect the preferred replica, or any live one for a partition without a leader (unclean).

With one broker there is rarely a choice: its partitions have a leader, and the answer is ELECTION_NOT_NEEDED. If the
request names no partitions, the answer lists only those where an election took place.
"""

from barnabas.controller.controller import Controller
from barnabas.controller.decisions.elections import decide_elect_leaders
from barnabas.handlers.context import RequestContext
from barnabas.handlers.outcomes import error_fields
from barnabas.wire.errors import ErrorCode, KafkaError
from barnabas.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


async def handle(controller: Controller, context: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
    code = ErrorCode.none
    try:
        elected = await controller.decide(lambda image: decide_elect_leaders(image, request))
    except KafkaError as error:
        code = error.code
        elected = [
            (topic.topic, [(index, error) for index in topic.partitions]) for topic in request.topic_partitions or ()
        ]
    return ElectLeadersResponse(
        error_code=code,
        replica_election_results=tuple(
            ReplicaElectionResult(
                topic=topic,
                partition_result=tuple(
                    PartitionResult(partition_id=index, **error_fields(error)) for index, error in outcomes
                ),
            )
            for topic, outcomes in elected
        ),
    )
