"""How `kafka-console-consumer` writes a record: Kafka's DefaultMessageFormatter and its properties."""

import struct
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from barnabas.cli.errors import CommandFailed

if TYPE_CHECKING:
    from confluent_kafka import Message

Decode = Callable[[bytes], bytes]

_TIMESTAMP_TYPES = {1: "CreateTime", 2: "LogAppendTime"}


def _number(layout: str) -> Decode:
    def decode(data: bytes) -> bytes:
        if len(data) != struct.calcsize(layout):
            raise ValueError(f"{len(data)} bytes are no number of {struct.calcsize(layout)}")
        return str(struct.unpack(layout, data)[0]).encode()

    return decode


DESERIALIZERS: dict[str, Decode] = {
    "StringDeserializer": lambda data: data.decode(errors="replace").encode(),
    "ByteArrayDeserializer": lambda data: data,
    "BytesDeserializer": lambda data: data,
    "ShortDeserializer": _number(">h"),
    "IntegerDeserializer": _number(">i"),
    "LongDeserializer": _number(">q"),
    "FloatDeserializer": _number(">f"),
    "DoubleDeserializer": _number(">d"),
    "BooleanDeserializer": lambda data: b"true" if data == b"\x01" else b"false",
    "UUIDDeserializer": lambda data: str(uuid.UUID(data.decode())).encode(),
}


class MessageFormatter:
    def __init__(self, properties: Mapping[str, str]) -> None:
        self._shows = {
            name: properties.get(f"print.{name}", "true" if name == "value" else "false").strip().lower() == "true"
            for name in ("timestamp", "partition", "offset", "delivery", "epoch", "headers", "key", "value")
        }
        self._separator = properties.get("key.separator", "\t").encode()
        self._line_separator = properties.get("line.separator", "\n").encode()
        self._headers_separator = properties.get("headers.separator", ",").encode()
        self._null = properties.get("null.literal", "null").encode()
        self._decode_key = _deserializer(properties.get("key.deserializer"))
        self._decode_value = _deserializer(properties.get("value.deserializer"))
        self._decode_header = _deserializer(
            properties.get("headers.deserializer") or properties.get("header.deserializer")
        )

    def __call__(self, message: "Message") -> bytes:
        parts = [getattr(self, f"_{name}")(message) for name, shown in self._shows.items() if shown]
        return self._separator.join(parts) + (self._line_separator if parts else b"")

    def _timestamp(self, message: "Message") -> bytes:
        kind, timestamp = message.timestamp()
        name = _TIMESTAMP_TYPES.get(kind)
        return b"NO_TIMESTAMP" if name is None else f"{name}:{timestamp}".encode()

    def _partition(self, message: "Message") -> bytes:
        return b"Partition:%d" % (message.partition() or 0)

    def _offset(self, message: "Message") -> bytes:
        return b"Offset:%d" % (message.offset() or 0)

    def _delivery(self, message: "Message") -> bytes:
        count = message.delivery_count()
        return b"Delivery:%d" % count if count else b"Delivery:NOT_PRESENT"

    def _epoch(self, message: "Message") -> bytes:
        epoch = message.leader_epoch()
        return b"Epoch:NOT_PRESENT" if epoch is None else b"Epoch:%d" % epoch

    def _headers(self, message: "Message") -> bytes:
        headers = message.headers() or []
        if not headers:
            return b"NO_HEADERS"
        parts = [f"{name}:".encode() + self._shown(value, self._decode_header) for name, value in headers]
        return self._headers_separator.join(parts)

    def _key(self, message: "Message") -> bytes:
        return self._shown(message.key(), self._decode_key)

    def _value(self, message: "Message") -> bytes:
        return self._shown(message.value(), self._decode_value)

    def _shown(self, data: str | bytes | None, decode: Decode) -> bytes:
        if data is None:
            return self._null
        return decode(data.encode() if isinstance(data, str) else data)


def _deserializer(name: str | None) -> Decode:
    short = (name or "ByteArrayDeserializer").rpartition(".")[2]
    if short not in DESERIALIZERS:
        raise CommandFailed(
            f"{name} is refused: Java classes cannot be loaded here", hint=f"there are {', '.join(DESERIALIZERS)}"
        )
    return DESERIALIZERS[short]
