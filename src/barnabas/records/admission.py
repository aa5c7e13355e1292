"""What a leader accepts from a client: the checks between a produce request and the log, and the rewrites a topic asks.

A partition's records in a produce request are exactly one batch. Its header and CRC are checked, and that the records
fill it as their number and their lengths say (`records/structure.py`); for that, a compressed batch is decompressed,
within bounds. The bytes that are appended are the client's own, but for three settings of the topic:

- keys are required (compaction), or timestamps must not be too old: all fields of all records are looked at;
- a compression of the topic's own that the batch is not in yet: the records are compressed anew, not decoded;
- LogAppendTime: the header gets the time, and with it a new CRC.

Refused, where Kafka does not bother: LogAppendTime or a delete horizon set by a client, a producer id without an epoch,
a transaction without a producer id, bytes behind the batch. Unlike Kafka, a leader takes a producer's word for the
fields within the later records of a large batch, and for the greatest timestamp.
"""

from typing import NamedTuple

from fastcrc.crc32 import iscsi

from barnabas.records.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    HEADER_SIZE,
    HEADER_STRUCT,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    Batch,
    BatchHeader,
    Buffer,
    crc_is_valid,
    read_header,
)
from barnabas.records.compression import Codec, codec_of, compress
from barnabas.records.record import RECORD_SIZE_MIN, decompressed_body, seal
from barnabas.records.structure import check_records, is_plain_record, survey_records
from barnabas.wire.errors import (
    CorruptMessage,
    InvalidRecord,
    InvalidTimestamp,
    MessageTooLarge,
    UnsupportedCompressionType,
)

# `message.timestamp.before.max.ms` and `.after.max.ms` where they bound nothing: Long.MAX_VALUE
UNBOUNDED_MS = (1 << 63) - 1

# A look at so many takes 30 ms, or 0.2 s where all fields are looked at. librdkafka sends 10,000 at most by default;
# Java clients, which count bytes, split a batch that is refused as too large.
RECORDS_MAX = 1 << 18


_new_tuple = tuple.__new__
_unpack_header = HEADER_STRUCT.unpack_from


class AdmissionRules(NamedTuple):
    """A topic's settings, as far as they speak about what may be appended."""

    max_message_bytes: int
    log_append_time: bool
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    compression: Codec | None  # None: as the producer chose
    compression_level: int | None  # None: the codec's default
    requires_key: bool
    decompressed_bytes_max: int

    @property
    def takes_batches_as_they_are(self) -> bool:
        """Nothing has to be looked at or rewritten in an uncompressed batch."""
        return (
            not self.requires_key
            and not self.log_append_time
            and self.timestamp_before_max_ms >= UNBOUNDED_MS
            and (self.compression is None or self.compression is Codec.NONE)
        )


def admit(records: Buffer | None, rules: AdmissionRules, now_ms: int, *, zstd_is_known: bool = True) -> list[Batch]:
    """The batch to append, checked and as the topic wants it. `zstd_is_known`: the client speaks Produce 7 or later."""
    if records is not None and rules.takes_batches_as_they_are:
        plain = _plain_batch(records, rules, now_ms)
        if plain is not None:
            return [plain]
    return [_admit_carefully(records, rules, now_ms, zstd_is_known=zstd_is_known)]


def _plain_batch(records: Buffer, rules: AdmissionRules, now_ms: int) -> Batch | None:
    body = bytes(records) if isinstance(records, memoryview) else records
    header = plain_header(body, 0, memoryview(body), rules, now_ms)
    return None if header is None else Batch(header, memoryview(records))


def plain_header(
    buffer: bytes | bytearray, start: int, batch: memoryview, rules: AdmissionRules, now_ms: int
) -> BatchHeader | None:
    """The common case in one go: an uncompressed batch with nothing unusual about it. It lies in `buffer` at `start`.

    None: look carefully. Accepts nothing that `_admit_carefully` refuses (a test holds it to that), and says nothing
    about why not. For topics that take batches as they are.
    """
    size = len(batch)
    if not HEADER_SIZE < size <= rules.max_message_bytes:
        return None
    header = _new_tuple(BatchHeader, _unpack_header(buffer, start))  # as `_make` does, without its call
    base_offset, length, _, magic, crc, attributes, last, first_ms, max_ms, producer, epoch, sequence, count = header
    latest_ms = now_ms + rules.timestamp_after_max_ms
    if (
        (attributes == 0 or (attributes == TRANSACTIONAL_FLAG and producer >= 0))
        and base_offset == 0
        and magic == MAGIC
        and length + LOG_OVERHEAD == size
        and 0 < count == last + 1
        and count <= RECORDS_MAX
        and count * RECORD_SIZE_MIN <= size - HEADER_SIZE
        and NO_TIMESTAMP <= first_ms <= latest_ms
        and NO_TIMESTAMP <= max_ms <= latest_ms
        and (producer < 0 or (epoch >= 0 and sequence >= 0))
        and iscsi(batch[ATTRIBUTES_POSITION:]) == crc
    ):
        if count != 1 or not is_plain_record(buffer, start + HEADER_SIZE, start + size):
            check_records(buffer, start + HEADER_SIZE, start + size, count)
        return header
    return None


def _admit_carefully(records: Buffer | None, rules: AdmissionRules, now_ms: int, *, zstd_is_known: bool) -> Batch:
    batch = _only_batch(records)
    header = batch.header
    if header.base_offset != 0:
        raise InvalidRecord(f"the batch's base offset is {header.base_offset}; a producer's is 0")
    if len(batch.data) > rules.max_message_bytes:
        raise _too_large(len(batch.data), rules)
    if not crc_is_valid(batch):
        raise CorruptMessage(f"the batch's CRC is not {header.crc:#010x}, as it says")
    codec = codec_of(header.codec)
    if codec is Codec.ZSTD and not zstd_is_known:
        raise UnsupportedCompressionType("zstd needs version 7 of the produce request or later")
    _check_claims(header)
    _check_timestamps(header, rules, now_ms)
    body = decompressed_body(batch, max_bytes=rules.decompressed_bytes_max)
    _check_body(header, body, rules, now_ms)
    return _as_the_topic_wants(batch, body, codec, rules, now_ms)


def _only_batch(records: Buffer | None) -> Batch:
    if not records:
        raise InvalidRecord("there are no records to append")
    view = memoryview(records)
    if len(view) > MAGIC_POSITION and view[MAGIC_POSITION] < MAGIC:
        raise InvalidRecord(f"only batches of magic {MAGIC} can be appended, not {view[MAGIC_POSITION]}")
    header = read_header(view)
    if header.magic != MAGIC:
        raise CorruptMessage(f"magic {header.magic} does not exist")
    size = header.size
    if not HEADER_SIZE <= size <= len(view):
        raise CorruptMessage(f"the batch claims {header.batch_length} bytes, {len(view) - LOG_OVERHEAD} are there")
    if size == len(view):
        return Batch(header, view)
    if len(view) - size > MAGIC_POSITION:
        raise InvalidRecord("a produce request holds exactly one batch per partition")
    raise CorruptMessage(f"{len(view) - size} bytes follow the batch")


def _check_claims(header: BatchHeader) -> None:
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        raise InvalidRecord(
            f"the batch claims {header.record_count} records, and offsets up to {header.last_offset_delta}"
        )
    if header.is_control:
        raise InvalidRecord("clients may not write control records")
    if header.has_delete_horizon:
        raise InvalidRecord("clients may not set a delete horizon: that is compaction's")
    if header.has_producer_id:
        if header.base_sequence < 0 or header.producer_epoch < 0:
            raise InvalidRecord(
                f"producer id {header.producer_id} without an epoch ({header.producer_epoch}) "
                f"or a sequence ({header.base_sequence})"
            )
    elif header.is_transactional:
        raise InvalidRecord("a transactional batch has a producer id")


def _check_timestamps(header: BatchHeader, rules: AdmissionRules, now_ms: int) -> None:
    """By the header, which holds the first and the greatest. A smaller one in between takes a look at the records."""
    if header.is_log_append_time:
        raise InvalidTimestamp("a producer does not set LogAppendTime: the broker does")
    if not rules.log_append_time:
        _check_timestamp(header.base_timestamp, rules, now_ms)
        _check_timestamp(header.max_timestamp, rules, now_ms)


def _check_timestamp(timestamp: int, rules: AdmissionRules, now_ms: int) -> None:
    if timestamp == NO_TIMESTAMP:
        return
    if now_ms - timestamp > rules.timestamp_before_max_ms or timestamp - now_ms > rules.timestamp_after_max_ms:
        raise InvalidTimestamp(
            f"timestamp {timestamp} is not within [{now_ms - rules.timestamp_before_max_ms}, "
            f"{now_ms + rules.timestamp_after_max_ms}]"
        )


def _check_body(header: BatchHeader, body: bytes, rules: AdmissionRules, now_ms: int) -> None:
    count = header.record_count
    if count * RECORD_SIZE_MIN > len(body):
        raise InvalidRecord(f"the batch claims {count} records in {len(body)} bytes")
    if count > RECORDS_MAX:
        raise MessageTooLarge(f"the batch has {count} records; split it: {RECORDS_MAX} are allowed")
    bounds_age = not rules.log_append_time and rules.timestamp_before_max_ms < UNBOUNDED_MS
    if not rules.requires_key and not bounds_age:
        check_records(body, 0, len(body), count)
        return
    survey = survey_records(body, 0, len(body), count)
    if rules.requires_key and survey.has_null_key:
        raise InvalidRecord("a compacted topic takes no record without a key")
    if bounds_age:
        _check_timestamp(header.base_timestamp + survey.timestamp_delta_min, rules, now_ms)
        _check_timestamp(header.base_timestamp + survey.timestamp_delta_max, rules, now_ms)


def _as_the_topic_wants(batch: Batch, raw: bytes, codec: Codec, rules: AdmissionRules, now_ms: int) -> Batch:
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
    return MessageTooLarge(f"the batch has {size} bytes, the topic takes {rules.max_message_bytes} (max.message.bytes)")
