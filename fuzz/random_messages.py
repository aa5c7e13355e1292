"""Random messages of any schema: what a client could send, with the values that a careful client would not.

A value is ordinary or one of the edges of its type. Callers may name words (topics that exist, group ids) that stand
in for ordinary strings, so that a message gets past the first check of a handler.
"""

import dataclasses
import datetime
import importlib
import random
import types
import typing
import uuid
from collections.abc import Sequence
from typing import Any, Final

from kio.schema.errors import ErrorCode

from barnabas.wire.codec import encode_request

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

# How `datetime.timedelta` bounds what 64 bits of milliseconds may say.
_TIMEDELTA_MS_MAX: Final = 86_399_999_913_600_000


def message_type(api_name: str, version: int, kind: str) -> Any:
    """kio's class of a request or a response."""
    module = f"kio.schema.{api_name}.v{version}.{kind}"
    schema = vars(importlib.import_module(module)).values()
    # The message stands last in its module, after what is nested in it.
    return [value for value in schema if getattr(value, "__module__", "") == module][-1]


class RandomMessages:
    def __init__(self, rng: random.Random, words: Sequence[str] = (), records: Sequence[bytes] = ()) -> None:
        self._rng = rng
        self._all_words = (*words, *words, *_WORDS)
        self._short_words = [word for word in self._all_words if len(word) <= _LEGACY_STRING_MAX]
        self._words: Sequence[str] = self._all_words
        self._records = records

    def request(self, api_name: str, version: int) -> Any:
        """A message of the version's own schema."""
        return self.entity(message_type(api_name, version, "request"))

    def response(self, api_name: str, version: int) -> Any:
        return self.entity(message_type(api_name, version, "response"))

    def encoded_request(self, api_name: str, version: int) -> bytes:
        return encode_request(api_name, version, self.request(api_name, version))

    def entity(self, entity_type: Any) -> Any:
        self._words = self._all_words if entity_type.__flexible__ else self._short_words
        fields = {}
        for field in dataclasses.fields(entity_type):
            if "tag" in field.metadata and self._rng.random() < 0.5:
                continue  # a tagged field may be absent
            fields[field.name] = self._value(field.type, field.metadata.get("kafka_type"))
        return entity_type(**fields)

    def _value(self, kind: Any, kafka_type: str | None) -> Any:
        if isinstance(kind, types.UnionType):  # only unions with None exist
            if self._rng.random() < _EDGE_CHANCE:
                return None
            kind = next(member for member in typing.get_args(kind) if member is not types.NoneType)
        if typing.get_origin(kind) is tuple:
            element = typing.get_args(kind)[0]
            return tuple(self._value(element, kafka_type) for _ in range(self._rng.randint(0, _ELEMENTS_MAX)))
        if dataclasses.is_dataclass(kind):
            return self.entity(kind)
        return self._primitive(kafka_type)

    def _primitive(self, kafka_type: str | None) -> Any:
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
                return rng.choice((b"", rng.randbytes(rng.randint(1, 40))))
            case "records":
                return rng.choice(self._records) if self._records and rng.random() < 0.7 else rng.randbytes(70)
            case "uuid":
                return rng.choice((None, uuid.UUID(int=rng.getrandbits(128))))
            case "float64":
                return rng.choice((0.0, -1.5, 1e300))
            case "timedelta_i32":
                return datetime.timedelta(milliseconds=self._integer(32))
            case "timedelta_i64":
                milliseconds = max(-_TIMEDELTA_MS_MAX, min(_TIMEDELTA_MS_MAX, self._integer(64)))
                return datetime.timedelta(milliseconds=milliseconds)
            case "datetime_i64":
                return datetime.datetime.fromtimestamp(rng.choice((0, 1_700_000_000)), datetime.UTC)
            case "error_code":
                return ErrorCode.none
        raise ValueError(f"no values of {kafka_type} can be made")

    def _integer(self, bits: int) -> int:
        low, high = -(1 << bits - 1), (1 << bits - 1) - 1
        if self._rng.random() < _EDGE_CHANCE:
            return self._rng.choice((low, high, -2, low + 1, high - 1))
        return self._rng.choice((-1, 0, 0, 1, 2, 10, 100))
