"""The peer's fault, or the cluster's state: errors that a client is told, each with its wire code in the class.

Anything else that is raised is our bug. Codes reach the wire in a handler or in dispatch, nowhere below.
"""

from typing import ClassVar

from barnabas.wire.error_codes import ErrorCode as ErrorCode


class KafkaError(Exception):
    """An answer to a client rather than a failure of ours. Its text may travel in `error_message` fields."""

    code: ClassVar[ErrorCode] = ErrorCode.unknown_server_error

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.code.name)


class OffsetOutOfRange(KafkaError):
    code = ErrorCode.offset_out_of_range


class CorruptMessage(KafkaError):
    code = ErrorCode.corrupt_message


class UnknownTopicOrPartition(KafkaError):
    code = ErrorCode.unknown_topic_or_partition


class InvalidFetchSize(KafkaError):
    code = ErrorCode.invalid_fetch_size


class LeaderNotAvailable(KafkaError):
    code = ErrorCode.leader_not_available


class NotLeaderOrFollower(KafkaError):
    code = ErrorCode.not_leader_or_follower


class RequestTimedOut(KafkaError):
    code = ErrorCode.request_timed_out


class MessageTooLarge(KafkaError):
    code = ErrorCode.message_too_large


class OffsetMetadataTooLarge(KafkaError):
    code = ErrorCode.offset_metadata_too_large


class CoordinatorLoadInProgress(KafkaError):
    code = ErrorCode.coordinator_load_in_progress


class CoordinatorNotAvailable(KafkaError):
    code = ErrorCode.coordinator_not_available


class NotCoordinator(KafkaError):
    code = ErrorCode.not_coordinator


class InvalidTopic(KafkaError):
    code = ErrorCode.invalid_topic_exception


class RecordListTooLarge(KafkaError):
    code = ErrorCode.record_list_too_large


class NotEnoughReplicas(KafkaError):
    code = ErrorCode.not_enough_replicas


class NotEnoughReplicasAfterAppend(KafkaError):
    code = ErrorCode.not_enough_replicas_after_append


class InvalidRequiredAcks(KafkaError):
    code = ErrorCode.invalid_required_acks


class IllegalGeneration(KafkaError):
    code = ErrorCode.illegal_generation


class InconsistentGroupProtocol(KafkaError):
    code = ErrorCode.inconsistent_group_protocol


class InvalidGroupId(KafkaError):
    code = ErrorCode.invalid_group_id


class UnknownMemberId(KafkaError):
    code = ErrorCode.unknown_member_id


class InvalidSessionTimeout(KafkaError):
    code = ErrorCode.invalid_session_timeout


class RebalanceInProgress(KafkaError):
    code = ErrorCode.rebalance_in_progress


class InvalidCommitOffsetSize(KafkaError):
    code = ErrorCode.invalid_commit_offset_size


class InvalidTimestamp(KafkaError):
    code = ErrorCode.invalid_timestamp


class UnsupportedVersion(KafkaError):
    code = ErrorCode.unsupported_version


class TopicAlreadyExists(KafkaError):
    code = ErrorCode.topic_already_exists


class InvalidPartitions(KafkaError):
    code = ErrorCode.invalid_partitions


class InvalidReplicationFactor(KafkaError):
    code = ErrorCode.invalid_replication_factor


class InvalidReplicaAssignment(KafkaError):
    code = ErrorCode.invalid_replica_assignment


class InvalidConfig(KafkaError):
    code = ErrorCode.invalid_config


class NotController(KafkaError):
    code = ErrorCode.not_controller


class InvalidRequest(KafkaError):
    code = ErrorCode.invalid_request


class UnsupportedForMessageFormat(KafkaError):
    code = ErrorCode.unsupported_for_message_format


class PolicyViolation(KafkaError):
    code = ErrorCode.policy_violation


class OutOfOrderSequenceNumber(KafkaError):
    code = ErrorCode.out_of_order_sequence_number


class DuplicateSequenceNumber(KafkaError):
    code = ErrorCode.duplicate_sequence_number


class InvalidProducerEpoch(KafkaError):
    code = ErrorCode.invalid_producer_epoch


class InvalidTxnState(KafkaError):
    code = ErrorCode.invalid_txn_state


class KafkaStorageError(KafkaError):
    code = ErrorCode.kafka_storage_error


class LogDirNotFound(KafkaError):
    code = ErrorCode.log_dir_not_found


class UnknownProducerId(KafkaError):
    code = ErrorCode.unknown_producer_id


class NonEmptyGroup(KafkaError):
    code = ErrorCode.non_empty_group


class GroupIdNotFound(KafkaError):
    code = ErrorCode.group_id_not_found


class FetchSessionIdNotFound(KafkaError):
    code = ErrorCode.fetch_session_id_not_found


class InvalidFetchSessionEpoch(KafkaError):
    code = ErrorCode.invalid_fetch_session_epoch


class TopicDeletionDisabled(KafkaError):
    code = ErrorCode.topic_deletion_disabled


class FencedLeaderEpoch(KafkaError):
    code = ErrorCode.fenced_leader_epoch


class UnknownLeaderEpoch(KafkaError):
    code = ErrorCode.unknown_leader_epoch


class UnsupportedCompressionType(KafkaError):
    code = ErrorCode.unsupported_compression_type


class StaleBrokerEpoch(KafkaError):
    code = ErrorCode.stale_broker_epoch


class OffsetNotAvailable(KafkaError):
    code = ErrorCode.offset_not_available


class MemberIdRequired(KafkaError):
    code = ErrorCode.member_id_required


class GroupMaxSizeReached(KafkaError):
    code = ErrorCode.group_max_size_reached


class FencedInstanceId(KafkaError):
    code = ErrorCode.fenced_instance_id


class GroupSubscribedToTopic(KafkaError):
    code = ErrorCode.group_subscribed_to_topic


class InvalidRecord(KafkaError):
    code = ErrorCode.invalid_record


class ThrottlingQuotaExceeded(KafkaError):
    code = ErrorCode.throttling_quota_exceeded


class ProducerFenced(KafkaError):
    code = ErrorCode.producer_fenced


class ResourceNotFound(KafkaError):
    code = ErrorCode.resource_not_found


class UnknownTopicId(KafkaError):
    code = ErrorCode.unknown_topic_id


class InconsistentTopicId(KafkaError):
    code = ErrorCode.inconsistent_topic_id


class FetchSessionTopicIdError(KafkaError):
    code = ErrorCode.fetch_session_topic_id_error


class InconsistentClusterId(KafkaError):
    code = ErrorCode.inconsistent_cluster_id


class InvalidRecordState(KafkaError):
    code = ErrorCode.invalid_record_state


class ShareSessionNotFound(KafkaError):
    code = ErrorCode.share_session_not_found


class InvalidShareSessionEpoch(KafkaError):
    code = ErrorCode.invalid_share_session_epoch


class FencedStateEpoch(KafkaError):
    code = ErrorCode.fenced_state_epoch


class ShareSessionLimitReached(KafkaError):
    code = ErrorCode.share_session_limit_reached


class ConcurrentTransactions(KafkaError):
    code = ErrorCode.concurrent_transactions


class InvalidProducerIdMapping(KafkaError):
    code = ErrorCode.invalid_producer_id_mapping


class InvalidTransactionTimeout(KafkaError):
    code = ErrorCode.invalid_transaction_timeout


class TransactionCoordinatorFenced(KafkaError):
    code = ErrorCode.transaction_coordinator_fenced


class TransactionalIdNotFound(KafkaError):
    code = ErrorCode.transactional_id_not_found


class TransactionAbortable(KafkaError):
    code = ErrorCode.transaction_abortable


class OperationNotAttempted(KafkaError):
    code = ErrorCode.operation_not_attempted


class UnstableOffsetCommit(KafkaError):
    code = ErrorCode.unstable_offset_commit


class TransactionalIdAuthorizationFailed(KafkaError):
    code = ErrorCode.transactional_id_authorization_failed


class TopicAuthorizationFailed(KafkaError):
    code = ErrorCode.topic_authorization_failed


class InvalidRegularExpression(KafkaError):
    code = ErrorCode.invalid_regular_expression


class IllegalSaslState(KafkaError):
    code = ErrorCode.illegal_sasl_state


class UnsupportedSaslMechanism(KafkaError):
    code = ErrorCode.unsupported_sasl_mechanism


class SecurityDisabled(KafkaError):
    code = ErrorCode.security_disabled


class DelegationTokenRequestNotAllowed(KafkaError):
    code = ErrorCode.delegation_token_request_not_allowed


class PreferredLeaderNotAvailable(KafkaError):
    code = ErrorCode.preferred_leader_not_available


class EligibleLeadersNotAvailable(KafkaError):
    code = ErrorCode.eligible_leaders_not_available


class ElectionNotNeeded(KafkaError):
    code = ErrorCode.election_not_needed


class NoReassignmentInProgress(KafkaError):
    code = ErrorCode.no_reassignment_in_progress


class DuplicateResource(KafkaError):
    code = ErrorCode.duplicate_resource


class UnacceptableCredential(KafkaError):
    code = ErrorCode.unacceptable_credential


class InvalidUpdateVersion(KafkaError):
    code = ErrorCode.invalid_update_version


class BrokerIdNotRegistered(KafkaError):
    code = ErrorCode.broker_id_not_registered


class UnknownSubscriptionId(KafkaError):
    code = ErrorCode.unknown_subscription_id


class TelemetryTooLarge(KafkaError):
    code = ErrorCode.telemetry_too_large


class InconsistentVoterSet(KafkaError):
    code = ErrorCode.inconsistent_voter_set


class SnapshotNotFound(KafkaError):
    code = ErrorCode.snapshot_not_found


class PositionOutOfRange(KafkaError):
    code = ErrorCode.position_out_of_range


class InvalidVoterKey(KafkaError):
    code = ErrorCode.invalid_voter_key


class DuplicateVoter(KafkaError):
    code = ErrorCode.duplicate_voter


class VoterNotFound(KafkaError):
    code = ErrorCode.voter_not_found


class FencedMemberEpoch(KafkaError):
    code = ErrorCode.fenced_member_epoch


class UnreleasedInstanceId(KafkaError):
    code = ErrorCode.unreleased_instance_id


class UnsupportedAssignor(KafkaError):
    code = ErrorCode.unsupported_assignor


class StaleMemberEpoch(KafkaError):
    code = ErrorCode.stale_member_epoch
