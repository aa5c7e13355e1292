"""What a broker's answer means for a batch."""

from enum import Enum, auto
from typing import Final

from barnabas.client.errors import Refused
from barnabas.client.producer_errors import ProducerFenced, record_too_large
from barnabas.client.producer_identity import ProducerIdentity
from barnabas.client.producer_lane import Lane
from barnabas.wire.errors import ErrorCode


class Fate(Enum):
    WRITTEN = auto()
    RETRY = auto()
    RETRY_ELSEWHERE = auto()
    """Ask for the leader first."""
    SPLIT = auto()
    OUT_OF_ORDER = auto()
    """The broker expects another sequence."""
    PRODUCER_LOST = auto()
    """The broker does not know this producer any more."""
    REFUSED = auto()


_FATES: Final = {
    ErrorCode.none: Fate.WRITTEN,
    ErrorCode.duplicate_sequence_number: Fate.WRITTEN,
    ErrorCode.not_leader_or_follower: Fate.RETRY_ELSEWHERE,
    ErrorCode.unknown_topic_or_partition: Fate.RETRY_ELSEWHERE,
    ErrorCode.unknown_topic_id: Fate.RETRY_ELSEWHERE,
    ErrorCode.leader_not_available: Fate.RETRY_ELSEWHERE,
    ErrorCode.fenced_leader_epoch: Fate.RETRY_ELSEWHERE,
    ErrorCode.replica_not_available: Fate.RETRY_ELSEWHERE,
    ErrorCode.kafka_storage_error: Fate.RETRY_ELSEWHERE,
    ErrorCode.request_timed_out: Fate.RETRY,
    ErrorCode.not_enough_replicas: Fate.RETRY,
    ErrorCode.not_enough_replicas_after_append: Fate.RETRY,
    ErrorCode.network_exception: Fate.RETRY,
    # a broker that asks the transaction's coordinator before it appends passes these on
    ErrorCode.coordinator_load_in_progress: Fate.RETRY,
    ErrorCode.coordinator_not_available: Fate.RETRY,
    ErrorCode.not_coordinator: Fate.RETRY,
    ErrorCode.concurrent_transactions: Fate.RETRY,
    ErrorCode.message_too_large: Fate.SPLIT,
    ErrorCode.record_list_too_large: Fate.SPLIT,
    ErrorCode.out_of_order_sequence_number: Fate.OUT_OF_ORDER,
    ErrorCode.unknown_producer_id: Fate.PRODUCER_LOST,
    ErrorCode.invalid_producer_epoch: Fate.PRODUCER_LOST,
    ErrorCode.invalid_producer_id_mapping: Fate.PRODUCER_LOST,
}


def fate_of(code: ErrorCode) -> Fate:
    return _FATES.get(code, Fate.REFUSED)


def fatal_error(
    code: ErrorCode, message: str | None, lane: Lane, size_bytes: int, identity: ProducerIdentity | None
) -> Refused:
    """Why it ends here, in words."""
    if fate_of(code) is Fate.SPLIT:
        return record_too_large(lane.topic, size_bytes, message)
    what = f"{lane.topic}-{lane.partition} refused a batch: {message or code.name}"
    if identity is not None and identity.transactional_id is not None:
        return ProducerFenced(
            code,
            f"{what} (transactional id {identity.transactional_id}, producer {identity.producer_id}, epoch "
            f"{identity.epoch})",
            "the transaction is over or belongs to a newer producer: begin a new one",
        )
    return Refused(code, what)
