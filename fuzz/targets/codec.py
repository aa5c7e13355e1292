"""The compiled readers themselves: every API and version in both directions, and every stored record.

A message that is read can be written and read again, and is the same when it is read in place. Where kio accepts the
bytes too, it reads the same.
"""

import importlib
import pkgutil
import random
import struct
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from kio.serial.errors import SerialError

import barnabas.coordinator
import barnabas.metadata
import barnabas.raft
from barnabas.wire.api_table import APIS
from barnabas.wire.codec import NOT_SUCH_A_MESSAGE, decode, encode, message_class
from barnabas.wire.errors import CorruptMessage
from barnabas.wire.reader import Read, message_reader, message_reader_in_place
from barnabas.wire.schema import Message
from fuzz.kio_messages import as_kio, kio_class, read_by_kio, written_by_kio
from fuzz.random_messages import RandomMessages
from fuzz.target import Target


class Compiled(NamedTuple):
    shape: type[Message]
    version: int
    kio: Any = None
    """The same message in kio; stored records are not in it."""


_PREFIX: Final = struct.Struct(">H")
"""In front of each input: which of the messages it is."""
_SEEDS_EACH: Final = 2

_KIO_REFUSES: Final = (SerialError, ValueError, KeyError, OverflowError)
"""Error codes and tagged fields that it does not know, among others."""


@cache
def messages() -> tuple[Compiled, ...]:
    return tuple(
        Compiled(message_class(api.name, kind), version, kio_class(api.name, version, kind))
        for api in APIS
        for version in range(api.version_min, api.version_max + 1)
        for kind in ("request", "response")
    )


@cache
def stored_records() -> tuple[Compiled, ...]:
    """Every message that the coordinators, the quorum and the metadata keep on disk."""
    for room in (barnabas.coordinator, barnabas.metadata, barnabas.raft):
        for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
            importlib.import_module(module.name)
    shapes = [shape for shape in _declared(Message) if not shape.__module__.startswith("barnabas.wire.")]
    shapes = [shape for shape in shapes if shape.__module__.startswith("barnabas.")]
    return tuple(
        Compiled(shape, version)
        for shape in sorted(shapes, key=lambda shape: (shape.__module__, shape.__name__))
        for version in range(shape.layout.first_version, shape.layout.last_version + 1)
    )


def _declared(shape: type[Message]) -> Iterator[type[Message]]:
    for each in shape.__subclasses__():
        yield each
        yield from _declared(each)


def _seeds(compiled: tuple[Compiled, ...], rng: random.Random) -> list[bytes]:
    random_messages = RandomMessages(rng)
    return [
        _PREFIX.pack(index) + encode(random_messages.entity(each.shape, each.version), each.version)
        for index, each in enumerate(compiled)
        for _ in range(_SEEDS_EACH)
    ]


def _read_message(data: bytes) -> None:
    if len(data) < _PREFIX.size:
        return
    shape, version, schema = messages()[_PREFIX.unpack_from(data)[0] % len(messages())]
    body = data[_PREFIX.size :]
    in_place, in_place_end = _outcome(message_reader_in_place(shape, version), memoryview(body))
    message, end = _outcome(message_reader(shape, version), body)
    if in_place_end != end:
        raise AssertionError(f"ends at {end}, and at {in_place_end} where it is read in place")
    if message is None:
        return
    written = encode(message, version)
    if encode(in_place, version) != written:
        raise AssertionError("it is another message where it is read in place")
    again, again_end = message_reader(shape, version)(written, 0)
    if again_end != len(written) or encode(again, version) != written:
        raise AssertionError("what was written is read as another message")
    _compare_with_kio(schema, message, written, body[:end])


def _outcome(read: Any, body: bytes | memoryview) -> tuple[Any, int]:
    try:
        message, end = read(body, 0)
    except NOT_SUCH_A_MESSAGE:
        return None, -1
    return message, end


def _compare_with_kio(schema: Any, message: Message, written: bytes, body: bytes) -> None:
    try:
        by_kio, size = read_by_kio(schema, body)
        expected = written_by_kio(schema, by_kio)
    except _KIO_REFUSES:
        return
    if size != len(body):
        raise AssertionError(f"has {len(body)} bytes, {size} for kio")
    if expected != written:
        raise AssertionError(f"{as_kio(message, schema)} is {by_kio} for kio")


def _read_stored(data: bytes) -> None:
    if len(data) < _PREFIX.size:
        return
    shape, version, _ = stored_records()[_PREFIX.unpack_from(data)[0] % len(stored_records())]
    try:
        stored = decode(shape, data, _PREFIX.size, version=version)
    except CorruptMessage:
        return
    written = encode(stored, version)
    if encode(decode(shape, written, version=version), version) != written:
        raise AssertionError("what was written is read as another record")


def _readers(compiled: tuple[Compiled, ...]) -> list[Read]:
    return [message_reader(each.shape, each.version) for each in compiled]


TARGETS: Final = (
    Target("messages", lambda rng: _seeds(messages(), rng), _read_message, lambda: _readers(messages())),
    Target(
        "stored_messages",
        lambda rng: _seeds(stored_records(), rng),
        _read_stored,
        lambda: _readers(stored_records()),
    ),
)
