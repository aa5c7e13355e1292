"""Do the records of a batch fill its body as their number and their lengths say? Asked of every batch a client sends.

A lie would not hurt the broker, which never looks again, but every consumer that reads the batch, for ever. A full look
at each record takes about half a microsecond, which is too much for the batches of a fast producer. So `check_records`
looks at all fields of the first few records, which is all there is in most small batches, and behind them follows the
lengths from record to record. Records of one size, of which fast producers send many in a row, it passes in one
step: one strided slice holds the first byte of each of their lengths.

`survey_records` looks at all fields of all records, for topics that want to know more; nothing is copied or made.
"""

from typing import Final, NamedTuple

from barnabas.records.record import RECORD_SIZE_MIN
from barnabas.records.varint import VARLONG_BITS, read_varint
from barnabas.wire.errors import InvalidRecord

SURVEYED_MAX: Final = 4  # costs as much as following the lengths of thirty more
# A stride that finds records of different sizes is lost work, as much as walking some ten records one by one. While
# strides are not worthwhile, ever more records are walked before the next is tried.
_STRIDE_MAX: Final = 512
_STRIDE_WORTHWHILE: Final = 16
_STEPS_MIN: Final = 32
_STEPS_MAX: Final = 2048
_NULL: Final = 1  # the length -1 as a zigzag varint


Bytes = bytes | bytearray
"""Not a memoryview: indexing one takes twice as long."""


class Survey(NamedTuple):
    """What a look at records told."""

    end: int  # where the last of them ends
    has_null_key: bool
    timestamp_delta_min: int
    timestamp_delta_max: int


def check_records(body: Bytes, position: int, limit: int, count: int) -> None:
    """InvalidRecord unless `count` records fill `body` from `position` to `limit`.

    What lies behind the limit may be looked at and decides nothing: a record that reaches there is refused.
    """
    if count <= SURVEYED_MAX:
        end = _survey(body, position, limit, count)[0]
    else:
        end = _survey(body, position, limit, SURVEYED_MAX)[0]
        end = _follow_lengths(body, end, count - SURVEYED_MAX)
    if end != limit:
        raise InvalidRecord(f"{limit - end} bytes follow the {count} records that the batch claims")


def is_plain_record(body: Bytes, position: int, limit: int) -> bool:
    """One record fills `body` from `position` to `limit`, and there is nothing unusual about it.

    That is what most small batches hold. False means nothing: `_survey` knows more kinds of records.
    """
    if limit - position < RECORD_SIZE_MIN:
        return False
    # Its length, in one byte or two; behind that the attributes, which have no meaning so far, and two deltas.
    byte = body[position]
    if byte < 0x80:
        position += 1
        length = byte >> 1
    else:
        if (second := body[position + 1]) >= 0x80:
            return False
        length = (byte & 0x7F) >> 1 | second << 6
        position += 2
    if byte & 1 or position + length != limit or body[position + 1] >= 0x80 or body[position + 2]:
        return False
    position += 3
    # A key in less than 64 bytes, or none.
    byte = body[position]
    if byte == _NULL:
        position += 1
    elif byte & 0x81:
        return False
    else:
        position += 1 + (byte >> 1)
    # A value, and no headers. Its length has one byte or two; one of three, read as two, would reach past the limit.
    if position + 1 >= limit:
        return False
    byte = body[position]
    if byte < 0x80:
        position += 1 + (byte >> 1)
    else:
        position += 2 + ((byte & 0x7F) >> 1 | body[position + 1] << 6)
    return not byte & 1 and position + 1 == limit and body[position] == 0


def survey_records(body: Bytes, position: int, limit: int, count: int) -> Survey:
    """Look at all fields of `count` records, the first of the batch, which fill `body` from `position` to `limit`."""
    survey = Survey._make(_survey(body, position, limit, count))
    if survey.end != limit:
        raise InvalidRecord(f"{limit - survey.end} bytes follow the {count} records that the batch claims")
    return survey


def _survey(body: Bytes, position: int, limit: int, count: int) -> tuple[int, bool, int, int]:
    """The fields of a Survey: of the first `count` records, wherever they end."""
    # Numbers of one byte, which most are, and lengths of two are read in place.
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
                raise InvalidRecord(f"a record of {end - position} bytes, {limit - position} are left")
            # The byte of attributes has no meaning so far.
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
            raise InvalidRecord(f"a field of {length} bytes")
    elif byte < 0x80:
        position += (byte >> 1) + 1
    elif (second := body[position + 1]) < 0x80:
        position += ((byte & 0x7F) >> 1 | second << 6) + 2
    else:
        length, position = read_varint(body, position)
        position += length
    if position > end:
        raise InvalidRecord(f"a field ends {position - end} bytes behind its record")
    return position


def _skip_headers(body: Bytes, position: int, end: int) -> int:
    count, position = read_varint(body, position)
    if not 0 <= count <= (end - position) // 2:  # a header is two lengths at least
        raise InvalidRecord(f"{count} headers in the {end - position} bytes left of a record")
    for _ in range(count):
        if body[position] == _NULL:
            raise InvalidRecord("a header has no key")
        position = _skip_bytes(body, position, end)
        position = _skip_bytes(body, position, end)
    return position


def _follow_lengths(body: Bytes, position: int, count: int) -> int:
    """Where the last of `count` records ends. It may lie beyond the batch's end; what lies before is exact."""
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
    """How many of `count` records, from the first on, have the first one's length, and where the last of them ends."""
    first = body[position]
    end = _skip_record(body, position)
    size = end - position
    if end > len(body):
        return 1, end
    # If the first ones have this size, the next begins where it would with this size: the slice's first bytes that
    # are all equal are lengths, whatever comes behind them.
    firsts = body[position : position + size * count : size]
    passed = len(firsts) - len(firsts.lstrip(bytes((first,))))
    if first >= 0x80:  # the length goes on
        place = position + 1
        while True:
            byte = body[place]
            others = body[place : place + size * passed : size]
            passed = len(others) - len(others.lstrip(bytes((byte,))))
            place += 1
            if byte < 0x80:
                break
    return passed, position + size * passed
