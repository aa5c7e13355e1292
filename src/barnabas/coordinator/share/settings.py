"""The share coordinator's settings, by Kafka's names and defaults."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShareCoordinatorSettings:
    updates_per_snapshot: int = 500
    """share.coordinator.snapshot.update.records.per.snapshot"""
    cold_snapshot_interval_ms: int = 300_000
    """share.coordinator.cold.partition.snapshot.interval.ms"""
    prune_interval_ms: int = 300_000
    """share.coordinator.state.topic.prune.interval.ms"""
    write_timeout_ms: int = 5_000
    """share.coordinator.write.timeout.ms"""
