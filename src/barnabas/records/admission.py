"""What a leader accepts from a producer: the checks before an append, and the changes that topic settings require.

A partition's records in a produce request are exactly one batch. The checks cover its header, its CRC, and that the
records fill it exactly, by their count and lengths (`records/structure.py`); for that, a compressed batch is
decompressed, within bounds. The client's bytes are appended as they are, except that topic settings may ask for more:

- required keys (compaction) or a bound on old timestamps: all fields of all records are checked;
- a compression type other than the batch's: the records are compressed again, but not decoded;
- LogAppendTime: the header gets the time, and with it a new CRC.

Refused here but not by Kafka: LogAppendTime or a delete horizon set by a client, a producer id without an epoch, a
transaction without a producer id, bytes after the batch. Unlike in Kafka, the fields of the later records in a large
batch, and its max timestamp, are not checked.
"""

from typing import NamedTuple

from fastcrc.crc32 import iscsi

from barnabas.records.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    NO_TIMESTAMP,
    Batch,
    BatchHeader,
    Buffer,
    crc_is_valid,
    read_header,
)
from barnabas.records.compression import Codec, codec_of, compress, decompress
from barnabas.records.innermost import ordinary_header, records_fill
from barnabas.records.record import decompressed_body, seal
from barnabas.records.structure import RECORD_SIZE_MIN, check_records, survey_records
from barnabas.wire.errors import (
    CorruptMessage,
    InvalidRecord,
    InvalidTimestamp,
    MessageTooLarge,
    UnsupportedCompressionType,
)

# `message.timestamp.before.max.ms` and `.after.max.ms` without a bound: Long.MAX_VALUE
UNBOUNDED_MS = (1 << 63) - 1

# Checking so many takes 30 ms, or 0.2 s if all fields are checked. librdkafka sends 10,000 at most by default;
# Java clients, which count bytes, split a batch that is refused as too large.
RECORDS_MAX = 1 << 18


class AdmissionRules(NamedTuple):
    """The topic settings that decide what may be appended, and how."""

    max_message_bytes: int
    log_append_time: bool
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    compression: Codec | None  # None: as the producer chose
    compression_level: int | None  # None: the codec's default
    requires_key: bool
    decompressed_bytes_max: int

    @property
    def appends_batches_unchanged(self) -> bool:
        """No setting needs the records of a batch inspected or rewritten, except for those of another compression."""
        return (
            not self.requires_key
            and not self.log_append_time
            and self.timestamp_before_max_ms >= UNBOUNDED_MS
            and (self.compression is None or self.compression is Codec.NONE)
        )


def unchanged_header(
    buffer: Buffer, start: int, batch: memoryview, rules: AdmissionRules, now_ms: int, zstd_allowed: bool = True
) -> BatchHeader | None:
    """The header of `batch`, which is at `start` in `buffer`, if it can be appended as it is.

    None: leave it to `admit`, which also gives the reason if the batch is invalid. A test shows that this accepts
    nothing that `admit` refuses. For topics that append batches unchanged.
    """
    size = len(batch)
    if size > rules.max_message_bytes:
        return None
    latest_ms = now_ms + rules.timestamp_after_max_ms
    header = ordinary_header(BatchHeader, buffer, start, start + size, latest_ms, RECORDS_MAX)
    if header is None or iscsi(batch[ATTRIBUTES_POSITION:]) != header.crc:
        return None
    codec = header.attributes & CODEC_MASK
    if codec:
        if rules.compression is not None or (codec == Codec.ZSTD and not zstd_allowed):
            return None
        body = decompress(codec, batch[HEADER_SIZE:], max_bytes=rules.decompressed_bytes_max)
        if not records_fill(body, 0, len(body), header.record_count):
            return None
    return header


def admit(records: Buffer | None, rules: AdmissionRules, now_ms: int, *, zstd_allowed: bool = True) -> Batch:
    """The batch to append, checked and with the topic's settings applied. zstd is allowed from Produce 7 on."""
    batch = _only_batch(records)
    header = batch.header
    if header.base_offset != 0:
        raise InvalidRecord(f"the batch's base offset is {header.base_offset}; a producer's is 0")
    if len(batch.data) > rules.max_message_bytes:
        raise _too_large(len(batch.data), rules)
    if not crc_is_valid(batch):
        raise CorruptMessage(f"the batch does not match its CRC {header.crc:#010x}")
    codec = codec_of(header.codec)
    if codec is Codec.ZSTD and not zstd_allowed:
        raise UnsupportedCompressionType("zstd needs version 7 of the produce request or later")
    _check_claims(header)
    _check_timestamps(header, rules, now_ms)
    body = decompressed_body(batch, max_bytes=rules.decompressed_bytes_max)
    _check_body(header, body, rules, now_ms)
    return _apply_topic_settings(batch, body, codec, rules, now_ms)


def _only_batch(records: Buffer | None) -> Batch:
    if not records:
        raise InvalidRecord("there are no records to append")
    view = memoryview(records)
    if len(view) > MAGIC_POSITION and view[MAGIC_POSITION] < MAGIC:
        raise InvalidRecord(f"only batches of magic {MAGIC} can be appended, not {view[MAGIC_POSITION]}")
    header = read_header(view)
    if header.magic != MAGIC:
        raise CorruptMessage(f"the batch has magic {header.magic}, only {MAGIC} is supported")
    size = header.size
    if not HEADER_SIZE <= size <= len(view):
        raise CorruptMessage(f"the batch claims {header.batch_length} bytes, but has {len(view) - LOG_OVERHEAD}")
    if size == len(view):
        return Batch(header, view)
    if len(view) - size > MAGIC_POSITION:
        raise InvalidRecord("a produce request holds exactly one batch per partition")
    raise CorruptMessage(f"{len(view) - size} bytes follow the batch")


def _check_claims(header: BatchHeader) -> None:
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        raise InvalidRecord(
            f"the batch claims {header.record_count} records, but its last offset delta is {header.last_offset_delta}"
        )
    if header.is_control:
        raise InvalidRecord("clients may not write control records")
    if header.has_delete_horizon:
        raise InvalidRecord("clients may not set a delete horizon: only compaction does")
    if header.has_producer_id:
        if header.base_sequence < 0 or header.producer_epoch < 0:
            raise InvalidRecord(
                f"producer id {header.producer_id} without an epoch ({header.producer_epoch}) "
                f"or a sequence ({header.base_sequence})"
            )
    elif header.is_transactional:
        raise InvalidRecord("the batch is transactional but has no producer id")


def _check_timestamps(header: BatchHeader, rules: AdmissionRules, now_ms: int) -> None:
    """Checks the base and the max timestamp, which are in the header; `_check_body` checks those in between."""
    if header.is_log_append_time:
        raise InvalidTimestamp("producers may not set LogAppendTime: only the broker does")
    if not rules.log_append_time:
        _check_timestamp(header.base_timestamp, rules, now_ms)
        _check_timestamp(header.max_timestamp, rules, now_ms)


def _check_timestamp(timestamp: int, rules: AdmissionRules, now_ms: int) -> None:
    if timestamp == NO_TIMESTAMP:
        return
    if now_ms - timestamp > rules.timestamp_before_max_ms or timestamp - now_ms > rules.timestamp_after_max_ms:
        raise InvalidTimestamp(
            f"timestamp {timestamp} is out of range: it must be between {now_ms - rules.timestamp_before_max_ms} "
            f"and {now_ms + rules.timestamp_after_max_ms}"
        )


def _check_body(header: BatchHeader, body: bytes, rules: AdmissionRules, now_ms: int) -> None:
    count = header.record_count
    if count * RECORD_SIZE_MIN > len(body):
        raise InvalidRecord(f"the batch claims {count} records in {len(body)} bytes")
    if count > RECORDS_MAX:
        raise MessageTooLarge(f"the batch has {count} records, the limit is {RECORDS_MAX}; split it")
    bounds_age = not rules.log_append_time and rules.timestamp_before_max_ms < UNBOUNDED_MS
    if not rules.requires_key and not bounds_age:
        check_records(body, 0, len(body), count)
        return
    survey = survey_records(body, 0, len(body), count)
    if rules.requires_key and survey.has_null_key:
        raise InvalidRecord("a record has no key, which a compacted topic requires")
    if bounds_age:
        _check_timestamp(header.base_timestamp + survey.timestamp_delta_min, rules, now_ms)
        _check_timestamp(header.base_timestamp + survey.timestamp_delta_max, rules, now_ms)


def _apply_topic_settings(batch: Batch, raw: bytes, codec: Codec, rules: AdmissionRules, now_ms: int) -> Batch:
    header = batch.header
    body: memoryview | bytes = batch.data[HEADER_SIZE:]
    target = codec if rules.compression is None else rules.compression
    if target != codec:
        header = header._replace(attributes=header.attributes & ~CODEC_MASK | target)
        body = compress(target, raw, rules.compression_level)
    if rules.log_append_time:
        header = header._replace(attributes=header.attributes | LOG_APPEND_TIME_FLAG, max_timestamp=now_ms)
    if header is batch.header:
        return batch
    rewritten = seal(header, body)
    if len(rewritten) > rules.max_message_bytes:
        raise _too_large(len(rewritten), rules)
    return Batch(read_header(rewritten), memoryview(rewritten))


def _too_large(size: int, rules: AdmissionRules) -> MessageTooLarge:
    return MessageTooLarge(f"the batch has {size} bytes, the limit is {rules.max_message_bytes} (max.message.bytes)")
