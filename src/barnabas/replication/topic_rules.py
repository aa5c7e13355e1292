"""A topic's configs as its log and its admission of batches understand them."""

from functools import lru_cache
from typing import Final

from barnabas.log.settings import LogSettings
from barnabas.metadata.configs.topic_settings import TopicSettings
from barnabas.records.admission import AdmissionRules
from barnabas.records.compression import CODEC_BY_COMPRESSION_TYPE

# What a batch may decompress to before we call it a bomb, unless the topic takes large batches anyway. Decompressing so
# much holds up everybody else for 10 to 30 ms. Clients bound their batches before they compress them, most to 1 MB.
DECOMPRESSED_BYTES_MAX: Final = 16 * 1024 * 1024

_SHARED_FIELDS: Final = tuple(field for field in LogSettings.__slots__ if field in TopicSettings._fields)


def log_settings(
    settings: TopicSettings, *, producer_id_expiration_ms: int, transaction_partition_verification: bool
) -> LogSettings:
    shared = {field: getattr(settings, field) for field in _SHARED_FIELDS}
    if settings.compact:
        # The active segment is never compacted: it must be sealed in time for the greatest lag, as in Kafka.
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
