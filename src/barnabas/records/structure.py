"""Checks that the records of a batch fill its body exactly, by their count and lengths, for every produced batch.

A malformed batch would not harm the broker, which does not decode it, but it would break every consumer forever.
Checking all fields of a record takes about half a microsecond, too much for the batches of a fast producer. So
`check_records` checks all fields of the first few records, which covers most small batches, and then only follows the
lengths from record to record. Fast producers send many records of one size in a row; those are passed in one step: a
strided slice holds the first byte of each length.

`survey_records` checks all fields of all records, for topics whose settings need it; nothing is copied or allocated.
"""

from typing import Final, NamedTuple

from barnabas.records.varint import VARLONG_BITS, read_varint
from barnabas.wire.errors import InvalidRecord

# Length, attributes, two deltas, two null or empty fields, no headers: one byte each.
RECORD_SIZE_MIN: Final = 7
SURVEYED_MAX: Final = 4  # costs as much as following the lengths of thirty records
# A stride that finds records of different sizes is wasted work, as much as walking some ten records one by one. While
# strides do not pay off, more and more records are walked before the next try.
_STRIDE_MAX: Final = 512
_STRIDE_WORTHWHILE: Final = 16
_STEPS_MIN: Final = 32
_STEPS_MAX: Final = 2048
_NULL: Final = 1  # the length -1 as a zigzag varint


Bytes = bytes | bytearray
"""Not a memoryview: indexing one takes twice as long."""


class Survey(NamedTuple):
    """What `survey_records` found."""

    end: int  # where the last of them ends
    has_null_key: bool
    timestamp_delta_min: int
    timestamp_delta_max: int


def check_records(body: Bytes, position: int, limit: int, count: int) -> None:
    """Raises InvalidRecord unless `count` records fill `body[position:limit]` exactly.

    Bytes after the limit may be read but have no effect: a record that extends there is refused.
    """
    if count <= SURVEYED_MAX:
        end = _survey(body, position, limit, count)[0]
    else:
        end = _survey(body, position, limit, SURVEYED_MAX)[0]
        end = _follow_lengths(body, end, count - SURVEYED_MAX)
    if end != limit:
        raise InvalidRecord(f"{limit - end} bytes follow the {count} records that the batch claims")


def survey_records(body: Bytes, position: int, limit: int, count: int) -> Survey:
    """Check all fields of all `count` records of a batch, which fill `body[position:limit]`."""
    survey = Survey._make(_survey(body, position, limit, count))
    if survey.end != limit:
        raise InvalidRecord(f"{limit - survey.end} bytes follow the {count} records that the batch claims")
    return survey


def _survey(body: Bytes, position: int, limit: int, count: int) -> tuple[int, bool, int, int]:
    """The fields of a Survey for the first `count` records, wherever they end."""
    # Most numbers have one byte: these, and two-byte lengths, are read inline.
    has_null_key = False
    delta_min = delta_max = 0
    try:
        for index in range(count):
            byte = body[position]
            if byte & 1:
                raise InvalidRecord("a record of negative length")
            if byte < 0x80:
                position += 1
                end = position + (byte >> 1)
            elif (second := body[position + 1]) < 0x80:
                position += 2
                end = position + ((byte & 0x7F) >> 1 | second << 6)
            else:
                length, position = read_varint(body, position)
                end = position + length
            if end > limit:
                raise InvalidRecord(f"a record claims {end - position} bytes, but {limit - position} are left")
            # The attributes byte is unused so far.
            if (byte := body[position + 1]) < 0x80:
                delta = (byte >> 1) ^ -(byte & 1)
                position += 2
            else:
                delta, position = read_varint(body, position + 1, VARLONG_BITS)
            if delta < delta_min:
                delta_min = delta
            elif delta > delta_max:
                delta_max = delta
            if (byte := body[position]) < 0x80:
                delta = (byte >> 1) ^ -(byte & 1)
                position += 1
            else:
                delta, position = read_varint(body, position)
            if delta != index:
                raise InvalidRecord(f"record {index} of the batch has offset delta {delta}")
            if body[position] == _NULL:
                has_null_key = True
                position += 1
            else:
                position = _skip_bytes(body, position, end)
            position = _skip_bytes(body, position, end)
            if body[position] == 0:
                position += 1
            else:
                position = _skip_headers(body, position, end)
            if position != end:
                raise InvalidRecord(f"a record's fields end {position - end} bytes from where its length says")
    except IndexError:
        raise InvalidRecord("the batch ends inside a record, or before the last that it claims") from None
    return position, has_null_key, delta_min, delta_max


def _skip_bytes(body: Bytes, position: int, end: int) -> int:
    byte = body[position]
    if byte & 1:
        length, position = read_varint(body, position)
        if length != -1:
            raise InvalidRecord(f"a field claims {length} bytes")
    elif byte < 0x80:
        position += (byte >> 1) + 1
    elif (second := body[position + 1]) < 0x80:
        position += ((byte & 0x7F) >> 1 | second << 6) + 2
    else:
        length, position = read_varint(body, position)
        position += length
    if position > end:
        raise InvalidRecord(f"a field ends {position - end} bytes after its record")
    return position


def _skip_headers(body: Bytes, position: int, end: int) -> int:
    count, position = read_varint(body, position)
    if not 0 <= count <= (end - position) // 2:  # a header is two lengths at least
        raise InvalidRecord(f"{count} headers in the {end - position} bytes left of a record")
    for _ in range(count):
        if body[position] & 1:
            raise InvalidRecord("a header has no key")
        position = _skip_bytes(body, position, end)
        position = _skip_bytes(body, position, end)
    return position


def _follow_lengths(body: Bytes, position: int, count: int) -> int:
    """Where the last of `count` records ends. This may be beyond the batch's end; within it, it is exact."""
    steps = _STEPS_MIN
    try:
        while True:
            passed, position = _stride(body, position, min(count, _STRIDE_MAX))
            count -= passed
            if not count:
                return position
            if passed >= _STRIDE_WORTHWHILE:
                steps = _STEPS_MIN
                continue
            if steps > count:
                steps = count
            signs = 0
            for _ in range(steps):
                byte = body[position]
                signs |= byte
                if byte < 0x80:
                    position += (byte >> 1) + 1
                elif (second := body[position + 1]) < 0x80:
                    position += ((byte & 0x7F) >> 1 | second << 6) + 2
                else:
                    position = _skip_record(body, position)
            if signs & 1:
                raise InvalidRecord("a record of negative length")
            count -= steps
            if not count:
                return position
            steps = min(steps * 4, _STEPS_MAX)
    except IndexError:
        raise InvalidRecord("the batch ends inside a record, or before the last that it claims") from None


def _skip_record(body: Bytes, position: int) -> int:
    length, position = read_varint(body, position)
    if length < 0:
        raise InvalidRecord("a record of negative length")
    return position + length


def _stride(body: Bytes, position: int, count: int) -> tuple[int, int]:
    """How many of the next `count` records have the same length as the first, and where the last of those ends."""
    first = body[position]
    end = _skip_record(body, position)
    size = end - position
    if end > len(body):
        return 1, end
    # As long as records have this size, the next starts one stride further: the leading bytes of the slice that are
    # all equal are lengths, whatever comes after them.
    firsts = body[position : position + size * count : size]
    passed = len(firsts) - len(firsts.lstrip(bytes((first,))))
    if first >= 0x80:  # the length has more bytes
        place = position + 1
        while True:
            byte = body[place]
            others = body[place : place + size * passed : size]
            passed = len(others) - len(others.lstrip(bytes((byte,))))
            place += 1
            if byte < 0x80:
                break
    return passed, position + size * passed
