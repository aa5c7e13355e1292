"""Random messages of any layout: what a client could send, with the values that a careful client would not.

A value is ordinary or one of the edges of its type. Callers may name words (topics that exist, group ids) that stand
in for ordinary strings, so that a message gets past the first check of a handler.
"""

import datetime
import math
import random
import uuid
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from barnabas.wire.codec import encode_request, message_class
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.schema import ARRAY, ENTITY, Field, Message

M = TypeVar("M", bound=Message)

_INTEGERS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_WORDS: Final = (
    "",
    "a",
    "topic",
    "grüße \U0001f600",
    "\x00",
    "..",
    "a" * 249,
    "x" * 300,
    "__consumer_offsets",
    "-1",
    "1",
    "y" * 40_000,
)
_LEGACY_STRING_MAX: Final = 2**15 - 1
_ELEMENTS_MAX: Final = 3
_EDGE_CHANCE: Final = 0.25
_SIZES_AT_EDGES: Final = (126, 127, 128, 300)
"""Where a compact size becomes longer by a byte, and some more."""
_TIMES_S: Final = (0, 1_700_000_000, 253_402_300_799)
"""The last second that a `datetime` can say is among them."""

# How `datetime.timedelta` bounds what 64 bits of milliseconds may say.
_TIMEDELTA_MS_MAX: Final = 86_399_999_913_600_000


class RandomMessages:
    def __init__(self, rng: random.Random, words: Sequence[str] = (), records: Sequence[bytes] = ()) -> None:
        self._rng = rng
        self._all_words = (*words, *words, *_WORDS)
        self._short_words = [word for word in self._all_words if len(word) <= _LEGACY_STRING_MAX]
        self._words: Sequence[str] = self._all_words
        self._records = records

    def request(self, api_name: str, version: int) -> Any:
        """With the fields that the version has."""
        return self.entity(message_class(api_name, "request"), version)

    def response(self, api_name: str, version: int) -> Any:
        return self.entity(message_class(api_name, "response"), version)

    def encoded_request(self, api_name: str, version: int) -> bytes:
        return encode_request(api_name, version, self.request(api_name, version))

    def entity(self, shape: type[M], version: int | None = None) -> M:
        """Of its last version, unless told otherwise."""
        if version is None:
            version = shape.layout.last_version
        self._words = self._all_words if shape.layout.is_flexible(version) else self._short_words
        fields = {}
        for name, field in shape.layout.fields.items():
            if not field.is_in(version) or (field.tag is not None and self._rng.random() < 0.5):
                continue  # a tagged field may be absent
            fields[name] = self._value(name, field, version)
        return shape(**fields)

    def _value(self, name: str, field: Field, version: int) -> Any:
        # Whether a tagged field is there says whether it is null.
        if version >= field.nullable_since and field.tag is None and self._rng.random() < _EDGE_CHANCE:
            return None
        if field.kind == ARRAY:
            assert field.element is not None
            element = field.element
            return tuple(self._value(name, element, version) for _ in range(self._count(element)))
        if field.kind == ENTITY:
            assert field.entity is not None
            return self.entity(field.entity, version)
        return self._primitive("records" if name == "records" else field.kind)

    def _count(self, element: Field) -> int:
        if element.kind in _INTEGERS and self._rng.random() < _EDGE_CHANCE:
            return self._rng.choice(_SIZES_AT_EDGES)
        return self._rng.randint(0, _ELEMENTS_MAX)

    def _primitive(self, kafka_type: str) -> Any:
        rng = self._rng
        if kafka_type in _INTEGERS:
            return self._integer(_INTEGERS[kafka_type])
        match kafka_type:
            case "uint16":
                return rng.choice((0, 1, 9092, 2**16 - 1))
            case "bool":
                return rng.random() < 0.5
            case "string":
                return rng.choice(self._words)
            case "bytes":
                return rng.randbytes(rng.choice((0, rng.randint(1, 40), rng.choice(_SIZES_AT_EDGES))))
            case "records":
                return rng.choice(self._records) if self._records and rng.random() < 0.7 else rng.randbytes(70)
            case "uuid":
                return rng.choice((None, uuid.UUID(int=rng.getrandbits(128))))
            case "float64":
                return rng.choice((0.0, -1.5, 1e300, math.inf))
            case "timedelta_i32":
                return datetime.timedelta(milliseconds=self._integer(32))
            case "timedelta_i64":
                milliseconds = max(-_TIMEDELTA_MS_MAX, min(_TIMEDELTA_MS_MAX, self._integer(64)))
                return datetime.timedelta(milliseconds=milliseconds)
            case "datetime_i64":
                return rng.choice((None, *(datetime.datetime.fromtimestamp(each, datetime.UTC) for each in _TIMES_S)))
            case "error_code":
                return rng.choice((ErrorCode.none, *ErrorCode))
        raise ValueError(f"no values of {kafka_type} can be made")

    def _integer(self, bits: int) -> int:
        low, high = -(1 << bits - 1), (1 << bits - 1) - 1
        if self._rng.random() < _EDGE_CHANCE:
            return self._rng.choice((low, high, -2, low + 1, high - 1))
        return self._rng.choice((-1, 0, 0, 1, 2, 10, 100))
