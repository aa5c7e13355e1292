"""The few encodings that hot encoders write by hand. Everything else is kio's."""

import struct

NO_TAGGED_FIELDS = b"\x00"

_int16 = struct.Struct(">h")


def uvarint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(payload: memoryview | bytes, position: int) -> tuple[int, int]:
    """The value and the position after it. IndexError past the end, ValueError past five bytes."""
    value = shift = 0
    while True:
        byte = payload[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 28:
            raise ValueError("a varint is longer than five bytes")


def compact_string(value: str | None) -> bytes:
    if value is None:
        return b"\x00"
    data = value.encode()
    return uvarint(len(data) + 1) + data


def legacy_string(value: str | None) -> bytes:
    if value is None:
        return b"\xff\xff"
    data = value.encode()
    return _int16.pack(len(data)) + data
