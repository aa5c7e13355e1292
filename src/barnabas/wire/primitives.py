"""The few encodings that readers, writers and hand-written encoders share."""

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


def read_uvarint(payload: memoryview | bytes | bytearray, position: int) -> tuple[int, int]:
    """The value and the position after it. IndexError past the end, ValueError past five bytes."""
    value = payload[position]
    if value < 0x80:
        return value, position + 1
    second = payload[position + 1]
    if second < 0x80:
        return value & 0x7F | second << 7, position + 2
    value, position, shift = value & 0x7F | (second & 0x7F) << 7, position + 2, 14
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
