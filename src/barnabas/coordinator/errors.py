"""What a failed append means to a client of the coordinator: the log's errors are not the client's business."""

from barnabas.wire.errors import (
    CoordinatorNotAvailable,
    FencedLeaderEpoch,
    KafkaError,
    KafkaStorageError,
    MessageTooLarge,
    NotCoordinator,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotLeaderOrFollower,
    RecordListTooLarge,
    RequestTimedOut,
    UnknownTopicOrPartition,
)

# Clients look the coordinator up again after either; the second says that it has moved.
_NOT_AVAILABLE = (
    UnknownTopicOrPartition,
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    RequestTimedOut,
    KafkaStorageError,
)
_NOT_COORDINATOR = (NotLeaderOrFollower, FencedLeaderEpoch)


def coordinator_error(error: KafkaError) -> KafkaError:
    if isinstance(error, _NOT_AVAILABLE):
        return CoordinatorNotAvailable(f"the coordinator could not store its state: {error}")
    if isinstance(error, _NOT_COORDINATOR):
        return NotCoordinator(f"the coordinator has moved: {error}")
    if isinstance(error, MessageTooLarge | RecordListTooLarge):
        return KafkaError(f"the group's state does not fit into a record: {error}")
    return error
