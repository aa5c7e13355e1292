"""A topic's configs as settings of its log and of the checks for its batches."""

from functools import lru_cache
from typing import Final

from barnabas.log.settings import LogSettings
from barnabas.metadata.configs.topic_settings import TopicSettings
from barnabas.records.admission import AdmissionRules
from barnabas.records.compression import CODEC_BY_COMPRESSION_TYPE

# The largest decompressed batch, unless the topic allows large batches anyway. Decompressing that
# much blocks other clients for 10 to 30 ms. Clients limit their batches before compression, most of them to 1 MB.
DECOMPRESSED_BYTES_MAX: Final = 16 * 1024 * 1024

_SHARED_FIELDS: Final = tuple(field for field in LogSettings.__slots__ if field in TopicSettings._fields)


def log_settings(
    settings: TopicSettings, *, producer_id_expiration_ms: int, transaction_partition_verification: bool
) -> LogSettings:
    shared = {field: getattr(settings, field) for field in _SHARED_FIELDS}
    if settings.compact:
        # The active segment is never compacted, so it must be sealed within max.compaction.lag.ms, as in Kafka.
        shared["segment_ms"] = min(settings.segment_ms, settings.max_compaction_lag_ms)
    return LogSettings(
        producer_id_expiration_ms=producer_id_expiration_ms,
        transaction_partition_verification=transaction_partition_verification,
        **shared,
    )


@lru_cache(maxsize=256)
def admission_rules(settings: TopicSettings) -> AdmissionRules:
    return AdmissionRules(
        max_message_bytes=settings.max_message_bytes,
        log_append_time=settings.message_timestamp_type == "LogAppendTime",
        timestamp_before_max_ms=settings.message_timestamp_before_max_ms,
        timestamp_after_max_ms=settings.message_timestamp_after_max_ms,
        compression=CODEC_BY_COMPRESSION_TYPE.get(settings.compression_type),
        compression_level=settings.compression_level,
        requires_key=settings.compact,
        decompressed_bytes_max=max(DECOMPRESSED_BYTES_MAX, 2 * settings.max_message_bytes),
    )
