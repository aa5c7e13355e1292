"""What a broker's response means for a batch."""

from enum import Enum, auto
from typing import Final

from barnabas.client.errors import Refused
from barnabas.client.producer_errors import ProducerFenced, record_too_large
from barnabas.client.producer_identity import ProducerIdentity
from barnabas.client.producer_queue import PartitionQueue
from barnabas.wire.errors import ErrorCode


class Outcome(Enum):
    WRITTEN = auto()
    RETRY = auto()
    RETRY_AT_NEW_LEADER = auto()
    """Find the new leader first."""
    SPLIT = auto()
    OUT_OF_ORDER = auto()
    """The broker expects another sequence."""
    PRODUCER_LOST = auto()
    """The broker has forgotten this producer."""
    REFUSED = auto()


_OUTCOMES: Final = {
    ErrorCode.none: Outcome.WRITTEN,
    ErrorCode.duplicate_sequence_number: Outcome.WRITTEN,
    ErrorCode.not_leader_or_follower: Outcome.RETRY_AT_NEW_LEADER,
    ErrorCode.unknown_topic_or_partition: Outcome.RETRY_AT_NEW_LEADER,
    ErrorCode.unknown_topic_id: Outcome.RETRY_AT_NEW_LEADER,
    ErrorCode.leader_not_available: Outcome.RETRY_AT_NEW_LEADER,
    ErrorCode.fenced_leader_epoch: Outcome.RETRY_AT_NEW_LEADER,
    ErrorCode.replica_not_available: Outcome.RETRY_AT_NEW_LEADER,
    ErrorCode.kafka_storage_error: Outcome.RETRY_AT_NEW_LEADER,
    ErrorCode.request_timed_out: Outcome.RETRY,
    ErrorCode.not_enough_replicas: Outcome.RETRY,
    ErrorCode.not_enough_replicas_after_append: Outcome.RETRY,
    ErrorCode.network_exception: Outcome.RETRY,
    # a broker that asks the transaction's coordinator before it appends passes these on
    ErrorCode.coordinator_load_in_progress: Outcome.RETRY,
    ErrorCode.coordinator_not_available: Outcome.RETRY,
    ErrorCode.not_coordinator: Outcome.RETRY,
    ErrorCode.concurrent_transactions: Outcome.RETRY,
    ErrorCode.message_too_large: Outcome.SPLIT,
    ErrorCode.record_list_too_large: Outcome.SPLIT,
    ErrorCode.out_of_order_sequence_number: Outcome.OUT_OF_ORDER,
    ErrorCode.unknown_producer_id: Outcome.PRODUCER_LOST,
    ErrorCode.invalid_producer_epoch: Outcome.PRODUCER_LOST,
    ErrorCode.invalid_producer_id_mapping: Outcome.PRODUCER_LOST,
}


def outcome_of(code: ErrorCode) -> Outcome:
    return _OUTCOMES.get(code, Outcome.REFUSED)


def fatal_error(
    code: ErrorCode, message: str | None, queue: PartitionQueue, size_bytes: int, identity: ProducerIdentity | None
) -> Refused:
    """The error of a batch that cannot be retried."""
    if outcome_of(code) is Outcome.SPLIT:
        return record_too_large(queue.topic, size_bytes, message)
    what = f"{queue.topic}-{queue.partition} refused a batch: {message or code.name}"
    if identity is not None and identity.transactional_id is not None:
        return ProducerFenced(
            code,
            f"{what} (transactional id {identity.transactional_id}, producer {identity.producer_id}, epoch "
            f"{identity.epoch})",
            "the transaction is over or belongs to a newer producer: begin a new one",
        )
    return Refused(code, what)
