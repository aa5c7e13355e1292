"""What a leader accepts from a client: the checks between a produce request and the log, and the rewrites a topic asks.

A partition's records in a produce request are exactly one batch. Its header and CRC are checked; the records stay
opaque and uncopied, but for three settings of the topic:

- keys are required (compaction), or timestamps must not be too old: the records are decoded and looked at;
- a compression of the topic's own that the batch is not in yet: the records are compressed anew, not decoded;
- LogAppendTime: the header gets the time, and with it a new CRC.

So, unlike Kafka, a leader takes a producer's word for what lies behind a valid CRC on a topic without those settings.
Bodies whose first bytes are not of their codec are refused all the same, and so are counts that cannot be true. Also
refused, where Kafka does not bother: LogAppendTime or a delete horizon set by a client, a producer id without an epoch,
a transaction without a producer id, bytes behind the batch.
"""

from typing import NamedTuple

from barnabas.records.batch import (
    CODEC_MASK,
    HEADER_SIZE,
    HEADER_STRUCT,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    NO_TIMESTAMP,
    Batch,
    BatchHeader,
    Buffer,
    crc_is_valid,
    crc_of,
    read_header,
)
from barnabas.records.compression import Codec, check_framing, codec_of, compress
from barnabas.records.record import RECORD_SIZE_MIN, Record, decode_body, decompressed_body, seal
from barnabas.wire.errors import (
    CorruptMessage,
    InvalidRecord,
    InvalidTimestamp,
    MessageTooLarge,
    UnsupportedCompressionType,
)

# `message.timestamp.before.max.ms` and `.after.max.ms` where they bound nothing: Long.MAX_VALUE
UNBOUNDED_MS = (1 << 63) - 1


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
    """The common case in one go: an uncompressed batch with nothing unusual about it. None: look carefully.

    Accepts nothing that `_admit_carefully` refuses (a test holds it to that), and says nothing about why not.
    """
    size = len(records)
    if not HEADER_SIZE < size <= rules.max_message_bytes:
        return None
    fields = HEADER_STRUCT.unpack_from(records)
    base_offset, length, _, magic, crc, attributes, last_delta, *times, producer, epoch, sequence, count = fields
    latest_ms = now_ms + rules.timestamp_after_max_ms
    if (
        base_offset == 0
        and length + LOG_OVERHEAD == size
        and magic == MAGIC
        and attributes == 0
        and 0 < count == last_delta + 1
        and count * RECORD_SIZE_MIN <= size - HEADER_SIZE
        and max(times) <= latest_ms
        and (producer < 0 or (epoch >= 0 and sequence >= 0))
    ):
        view = memoryview(records)
        if crc_of(view) == crc:
            return Batch(BatchHeader._make(fields), view)
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
    if codec is not Codec.NONE:
        check_framing(codec, batch.data[HEADER_SIZE:])
    elif header.record_count * RECORD_SIZE_MIN > len(batch.data) - HEADER_SIZE:
        raise InvalidRecord(f"the batch claims {header.record_count} records in {len(batch.data)} bytes")
    return _as_the_topic_wants(batch, codec, rules, now_ms)


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


def _as_the_topic_wants(batch: Batch, codec: Codec, rules: AdmissionRules, now_ms: int) -> Batch:
    header = batch.header
    body: memoryview | bytes = batch.data[HEADER_SIZE:]
    bounds_age = not rules.log_append_time and rules.timestamp_before_max_ms < UNBOUNDED_MS
    target = codec if rules.compression is None else rules.compression
    if rules.requires_key or bounds_age or target != codec:
        raw = decompressed_body(batch, max_bytes=rules.decompressed_bytes_max)
        if rules.requires_key or bounds_age:
            _check_records(decode_body(header, raw), rules, now_ms)
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


def _check_records(records: list[Record], rules: AdmissionRules, now_ms: int) -> None:
    for record in records:
        if rules.requires_key and record.key is None:
            raise InvalidRecord("a compacted topic takes no record without a key")
        if not rules.log_append_time:
            _check_timestamp(record.timestamp, rules, now_ms)


def _too_large(size: int, rules: AdmissionRules) -> MessageTooLarge:
    return MessageTooLarge(f"the batch has {size} bytes, the topic takes {rules.max_message_bytes} (max.message.bytes)")
