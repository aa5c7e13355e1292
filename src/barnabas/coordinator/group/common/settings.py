"""The broker's settings for groups, by Kafka's names and defaults."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

INT32_MAX: Final = 2**31 - 1


class MigrationPolicy(Enum):
    """Whether groups with members may change their protocol. Empty ones always may."""

    DISABLED = "disabled"
    DOWNGRADE = "downgrade"
    UPGRADE = "upgrade"
    BIDIRECTIONAL = "bidirectional"

    @property
    def allows_upgrade(self) -> bool:
        return self in (MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL)

    @property
    def allows_downgrade(self) -> bool:
        return self in (MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL)


@dataclass(frozen=True, slots=True)
class GroupSettings:
    session_timeout_ms_min: int = 6_000
    """group.min.session.timeout.ms"""
    session_timeout_ms_max: int = 1_800_000
    """group.max.session.timeout.ms"""
    initial_rebalance_delay_ms: int = 3_000
    """group.initial.rebalance.delay.ms"""
    group_size_max: int = INT32_MAX
    """group.max.size"""
    new_member_join_timeout_ms: int = 5 * 60_000
    """A new member cannot send heartbeats while its JoinGroup is parked; after this time it is removed."""
    pending_members_max: int = 10_000
    """Pending member ids per group: each costs memory until its session times out."""

    offset_metadata_bytes_max: int = 4_096
    """offset.metadata.max.bytes"""
    offsets_retention_ms: int = 7 * 24 * 60 * 60_000
    """offsets.retention.minutes"""
    offsets_retention_check_interval_ms: int = 600_000
    """offsets.retention.check.interval.ms"""
    offset_commit_timeout_ms: int = 5_000
    """offsets.commit.timeout.ms"""

    consumer_session_timeout_ms: int = 45_000
    """group.consumer.session.timeout.ms"""
    consumer_session_timeout_ms_bounds: tuple[int, int] = (45_000, 60_000)
    """group.consumer.min.session.timeout.ms, group.consumer.max.session.timeout.ms"""
    consumer_heartbeat_interval_ms: int = 5_000
    """group.consumer.heartbeat.interval.ms"""
    consumer_heartbeat_interval_ms_bounds: tuple[int, int] = (5_000, 15_000)
    """group.consumer.min.heartbeat.interval.ms, group.consumer.max.heartbeat.interval.ms"""
    consumer_assignment_interval_ms: int = 1_000
    """group.consumer.assignment.interval.ms"""
    consumer_assignment_interval_ms_bounds: tuple[int, int] = (0, 15_000)
    """group.consumer.min.assignment.interval.ms, group.consumer.max.assignment.interval.ms"""
    consumer_group_size_max: int = INT32_MAX
    """group.consumer.max.size"""
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    """group.consumer.assignors: the first is the default"""
    consumer_regex_refresh_interval_ms: int = 600_000
    """group.consumer.regex.refresh.interval.ms"""
    serves_consumer_protocol: bool = True
    """group.coordinator.rebalance.protocols names it"""
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    """group.consumer.migration.policy"""

    share_session_timeout_ms: int = 45_000
    """group.share.session.timeout.ms"""
    share_session_timeout_ms_bounds: tuple[int, int] = (45_000, 60_000)
    """group.share.min.session.timeout.ms, group.share.max.session.timeout.ms"""
    share_heartbeat_interval_ms: int = 5_000
    """group.share.heartbeat.interval.ms"""
    share_heartbeat_interval_ms_bounds: tuple[int, int] = (5_000, 15_000)
    """group.share.min.heartbeat.interval.ms, group.share.max.heartbeat.interval.ms"""
    share_assignment_interval_ms: int = 1_000
    """group.share.assignment.interval.ms"""
    share_assignment_interval_ms_bounds: tuple[int, int] = (0, 15_000)
    """group.share.min.assignment.interval.ms, group.share.max.assignment.interval.ms"""
    share_group_size_max: int = 200
    """group.share.max.size"""
    share_initialize_retry_interval_ms: int = 30_000
    """group.share.initialize.retry.interval.ms"""
