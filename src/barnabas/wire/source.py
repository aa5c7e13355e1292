"""What readers and writers of messages share: the source of one function, line by line, and the types of fixed size.

A message's layout becomes Python source, which is compiled when the first message of that API and version comes: some
ten times as fast as asking each field for its type each time.
"""

import datetime
import struct
import uuid
from typing import Any, Final

from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.primitives import read_uvarint, uvarint

EPOCH: Final = datetime.datetime.fromtimestamp(0, datetime.UTC)

FORMATS: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "error_code": "h",
    "int32": "i",
    "int64": "q",
    "float64": "d",
    "timedelta_i32": "i",
    "timedelta_i64": "q",
    "datetime_i64": "q",
    "uuid": "16s",
}
"""Of each type whose size is always the same, as `struct` knows it."""

READ: Final = {
    "error_code": "error_code({}, UNKNOWN_ERROR)",
    "timedelta_i32": "timedelta(0, 0, 0, {})",
    "timedelta_i64": "timedelta(0, 0, 0, {})",
    "datetime_i64": "moment({})",
    "uuid": "uuid_of({})",
}
WRITTEN: Final = {
    "timedelta_i32": "milliseconds({})",
    "timedelta_i64": "milliseconds({})",
    "datetime_i64": "epoch_milliseconds({})",
    "uuid": "uuid_bytes({})",
}
"""Where a value is not the number or the bytes themselves."""


def milliseconds(value: datetime.timedelta) -> int:
    return value.days * 86_400_000 + value.seconds * 1_000 + round(value.microseconds / 1_000)


def epoch_milliseconds(value: datetime.datetime | None) -> int:
    return -1 if value is None else round((value - EPOCH) / datetime.timedelta(milliseconds=1))


def moment(value_ms: int) -> datetime.datetime | None:
    """None is what a negative time stands for: there is none."""
    return None if value_ms < 0 else EPOCH + datetime.timedelta(milliseconds=value_ms)


def uuid_bytes(value: uuid.UUID | None) -> bytes:
    return bytes(16) if value is None else value.bytes


def uuid_of(data: bytes) -> uuid.UUID | None:
    return uuid.UUID(bytes=data) if data != _ZEROS else None


def skip_tagged_fields(data: bytes, position: int, end: int) -> int:
    """Where the tagged fields end that begin at a position: newer peers add some that we do not know."""
    count, position = read_uvarint(data, position)
    for _ in range(count):
        _, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        position += size
        if position > end:
            raise ValueError("a tagged field is longer than the message")
    return position


_ZEROS: Final = bytes(16)


class Source:
    """The body of one function. Each value gets a name of its own, so that entities can be written out in place."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._indent = 1
        self._count = 0
        self._names: dict[str, object] = {
            "uvarint": uvarint,
            "read_uvarint": read_uvarint,
            "skip_tagged_fields": skip_tagged_fields,
            "pack": struct.pack,
            "unpack_from": struct.unpack_from,
            "int16_from": struct.Struct(">h").unpack_from,
            "int32_from": struct.Struct(">i").unpack_from,
            "error_code": {code.value: code for code in ErrorCode}.get,
            "UNKNOWN_ERROR": ErrorCode.unknown_server_error,
            "timedelta": datetime.timedelta,
            "milliseconds": milliseconds,
            "epoch_milliseconds": epoch_milliseconds,
            "moment": moment,
            "uuid_bytes": uuid_bytes,
            "uuid_of": uuid_of,
        }

    def compile(self, name: str, parameters: str) -> Any:
        text = "\n".join([f"def {name}({parameters}):", *self._lines])
        exec(compile(text, f"<{name}>", "exec"), self._names)
        return self._names[name]

    def line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)

    def indent(self, by: int = 1) -> None:
        self._indent += by

    def name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"

    def constant(self, stem: str, value: object) -> str:
        name = self.name(stem)
        self._names[name] = value
        return name
