"""The broker's settings for transactions, by Kafka's names and defaults."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    timeout_ms_max: int = 900_000
    """transaction.max.timeout.ms"""
    timeout_check_interval_ms: int = 10_000
    """transaction.abort.timed.out.transaction.cleanup.interval.ms"""
    transactional_id_expiration_ms: int = 604_800_000
    """transactional.id.expiration.ms"""
    expiration_check_interval_ms: int = 3_600_000
    """transaction.remove.expired.transaction.cleanup.interval.ms"""
    two_phase_commit: bool = False
    """transaction.two.phase.commit.enable"""
    commit_timeout_ms: int = 30_000
    """request.timeout.ms: how long committing a record of the coordinator may take."""
    completion_wait_ms: int = 100
    """add.partitions.to.txn.retry.backoff.max.ms: how long a request waits for the last transaction to complete."""
