"""Reads names, attributes and values of OpenTelemetry metrics from protobuf bytes, for the log.

Only what Kafka's clients send is read: numbers (gauges and sums), and counts and sums of histograms. The field numbers
are those of `opentelemetry/proto/metrics/v1/metrics.proto`. Invalid protobuf yields the metrics read up to there.
"""

import struct
from collections.abc import Iterator
from typing import Final

METRICS_MAX: Final = 1000
"""Per push."""


def read_metrics(payload: bytes) -> list[str]:
    found: list[str] = []
    for resource in _messages(payload, 1):
        for scope in _messages(resource, 2):
            for metric in _messages(scope, 2):
                found += _metric(metric)
                if len(found) >= METRICS_MAX:
                    return found[:METRICS_MAX]
    return found


def _metric(metric: bytes) -> Iterator[str]:
    name = b"".join(_messages(metric, 1)).decode(errors="replace")
    for kind in (5, 7):  # gauge, sum
        for data in _messages(metric, kind):
            for point in _messages(data, 1):
                yield f"{name}{_attributes(point, 7)} = {_number(point)}"
    for data in _messages(metric, 9):  # histogram
        for point in _messages(data, 1):
            fields = dict(_fields(point))
            yield f"{name}{_attributes(point, 9)} = count {_unsigned(fields.get(4))}, sum {_double(fields.get(5))}"


def _attributes(point: bytes, field: int) -> str:
    pairs = []
    for attribute in _messages(point, field):
        key = b"".join(_messages(attribute, 1)).decode(errors="replace")
        value = b"".join(b"".join(_messages(any_value, 1)) for any_value in _messages(attribute, 2))
        pairs.append(f"{key}={value.decode(errors='replace')}")
    return "{" + ", ".join(pairs) + "}" if pairs else ""


def _number(point: bytes) -> float | int | None:
    fields = dict(_fields(point))
    if 4 in fields:
        return _double(fields[4])
    return None if 6 not in fields else _signed(fields[6])


def _double(value: "int | bytes | None") -> float | None:
    found: float | None = struct.unpack("<d", value)[0] if isinstance(value, bytes) and len(value) == 8 else None
    return found


def _signed(value: "int | bytes") -> int | None:
    return int.from_bytes(value, "little", signed=True) if isinstance(value, bytes) else value


def _unsigned(value: "int | bytes | None") -> int | None:
    return int.from_bytes(value, "little") if isinstance(value, bytes) else value


def _messages(payload: bytes, field: int) -> Iterator[bytes]:
    return (value for number, value in _fields(payload) if number == field and isinstance(value, bytes))


def _fields(payload: bytes) -> Iterator[tuple[int, "int | bytes"]]:
    position = 0
    while position < len(payload):
        tag, position = _varint(payload, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            value, position = _varint(payload, position)
            yield number, value
            continue
        if wire_type == 2:
            size, position = _varint(payload, position)
        else:
            size = {1: 8, 5: 4}.get(wire_type, 0)
        if not size and wire_type != 2:
            return
        yield number, payload[position : position + size]
        position += size


def _varint(payload: bytes, position: int) -> tuple[int, int]:
    result = 0
    for shift in range(0, 70, 7):
        if position >= len(payload):
            break
        byte = payload[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    return result, position
