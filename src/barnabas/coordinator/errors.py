"""Translates errors of the coordinator's own log into errors that its clients understand."""

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

# After either, clients look the coordinator up again.
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
        return CoordinatorNotAvailable(f"the coordinator could not store its state, try again: {error}")
    if isinstance(error, _NOT_COORDINATOR):
        return NotCoordinator(f"the coordinator has moved, find it again: {error}")
    if isinstance(error, MessageTooLarge | RecordListTooLarge):
        return KafkaError(f"the group's state does not fit into a record: {error}")
    return error
