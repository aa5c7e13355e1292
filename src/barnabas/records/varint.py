"""Zigzag varints, the encoding of lengths and deltas in records: small numbers of either sign take one byte."""

from functools import lru_cache

from barnabas.wire.errors import InvalidRecord

VARINT_BITS = 32
VARLONG_BITS = 64


@lru_cache(maxsize=4096)
def varint(value: int) -> bytes:
    """Cached: lengths and deltas are the same small numbers over and over."""
    zigzag = value << 1 if value >= 0 else ~(value << 1)
    target = bytearray()
    while zigzag > 0x7F:
        target.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    target.append(zigzag)
    return bytes(target)


def read_varint(data: bytes | bytearray, position: int, bits: int = VARINT_BITS) -> tuple[int, int]:
    """The value and the position after it. Raises IndexError if `data` ends first; the caller handles that."""
    byte = data[position]
    position += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position
    zigzag = byte & 0x7F
    shift = 7
    while True:
        byte = data[position]
        position += 1
        zigzag |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= bits:
            raise InvalidRecord(f"a number in a record has more than {bits} bits")
    if zigzag >> bits:
        raise InvalidRecord(f"a number in a record has more than {bits} bits")
    return (zigzag >> 1) ^ -(zigzag & 1), position
