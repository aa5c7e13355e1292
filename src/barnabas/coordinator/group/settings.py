"""The broker's settings for groups, by Kafka's names and defaults."""

from dataclasses import dataclass
from typing import Final

INT32_MAX: Final = 2**31 - 1


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
    """A new member cannot send heartbeats while its JoinGroup is parked; after this time it is given up."""
    pending_members_max: int = 10_000
    """Member ids handed out and not used yet, per group: they cost memory until their session would have ended."""

    offset_metadata_bytes_max: int = 4_096
    """offset.metadata.max.bytes"""
    offsets_retention_ms: int = 7 * 24 * 60 * 60_000
    """offsets.retention.minutes"""
    offsets_retention_check_interval_ms: int = 600_000
    """offsets.retention.check.interval.ms"""
    offset_commit_timeout_ms: int = 5_000
    """offsets.commit.timeout.ms"""
