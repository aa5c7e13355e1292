"""The settings of one partition's log. `replication.topic_rules` builds them from topic and broker configs.

Names and defaults are those of Kafka's topic configs, with underscores for dots; -1 means "no limit" where it does in
Kafka.
"""

from dataclasses import dataclass
from typing import Final

INT64_MAX: Final = 2**63 - 1
HOUR_MS: Final = 60 * 60 * 1000
DAY_MS: Final = 24 * HOUR_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    segment_bytes: int = 1024**3
    segment_ms: int = 7 * DAY_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 * 1024**2
    index_interval_bytes: int = 4096

    compact: bool = False
    delete: bool = True
    retention_ms: int = 7 * DAY_MS
    retention_bytes: int = -1
    file_delete_delay_ms: int = 60_000

    delete_retention_ms: int = DAY_MS
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = INT64_MAX

    flush_messages: int = INT64_MAX
    flush_ms: int = INT64_MAX

    max_message_bytes: int = 1024**2 + 12
    producer_id_expiration_ms: int = DAY_MS
    transaction_partition_verification: bool = True
    """Whether the coordinator must confirm a transaction before its first batch is appended."""
