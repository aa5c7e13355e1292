"""A topic's effective configs as typed fields: resolved on every change, read on every append."""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from barnabas.metadata.configs.effective import BrokerConfigs, topic_value
from barnabas.metadata.configs.topic import TOPIC_CONFIGS


class TopicSettings(NamedTuple):
    """The topic configs that have an effect. -1 in the retention fields means no limit."""

    compact: bool
    delete: bool
    compression_gzip_level: int
    compression_lz4_level: int
    compression_type: str
    compression_zstd_level: int
    delete_retention_ms: int
    file_delete_delay_ms: int
    flush_messages: int
    flush_ms: int
    index_interval_bytes: int
    max_compaction_lag_ms: int
    max_message_bytes: int
    message_timestamp_after_max_ms: int
    message_timestamp_before_max_ms: int
    message_timestamp_type: str
    min_cleanable_dirty_ratio: float
    min_compaction_lag_ms: int
    min_insync_replicas: int
    preallocate: bool
    retention_bytes: int
    retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    segment_jitter_ms: int
    segment_ms: int
    unclean_leader_election_enable: bool
    barnabas_archive_enable: bool = False

    @property
    def compression_level(self) -> int | None:
        """The level for the codec of compression_type; None if it has none, or for the codec's default."""
        match self.compression_type:
            case "gzip":
                return None if self.compression_gzip_level == -1 else self.compression_gzip_level
            case "lz4":
                return self.compression_lz4_level
            case "zstd":
                return self.compression_zstd_level
            case _:
                return None


_FIELDS = {name: name.replace(".", "_") for name in TOPIC_CONFIGS if name.replace(".", "_") in TopicSettings._fields}


def resolve_topic_settings(overrides: Mapping[str, str], broker: BrokerConfigs) -> TopicSettings:
    """`overrides`: the topic's own configs, which were validated when they were set."""
    values: dict[str, Any] = {
        field: topic_value(TOPIC_CONFIGS[name], overrides, broker) for name, field in _FIELDS.items()
    }
    policy = cast(tuple[str, ...], topic_value(TOPIC_CONFIGS["cleanup.policy"], overrides, broker))
    values |= {"compact": "compact" in policy, "delete": "delete" in policy}
    small_segments = topic_value(TOPIC_CONFIGS["internal.segment.bytes"], overrides, broker)
    if small_segments is not None:
        values["segment_bytes"] = small_segments
    return TopicSettings(**values)
