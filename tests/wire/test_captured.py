"""Messages of Apache Kafka 4.3.1's own clients and servers are read to their last byte, and written again as they were.

Our layouts are generated from kio's schemas, so kio alone cannot show that they are right. These bytes are Kafka's:
`interop/capture.py` captured them.
"""

import base64
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fuzz.kio_messages import CANNOT_READ, as_kio, kio_class, read_by_kio
from generator import load_generator
from kio.serial.errors import SerialError

from barnabas.wire.api_table import APIS
from barnabas.wire.codec import NOT_SUCH_A_MESSAGE, message_class
from barnabas.wire.frame import read_request_header
from barnabas.wire.reader import message_reader, message_reader_in_place
from barnabas.wire.schema import NEVER, Field, Message, MessageMeta
from barnabas.wire.writer import message_writer

FIXTURES = Path(__file__).parent / "captured"
NAMES = sorted(path.stem for path in FIXTURES.glob("*.txt"))
SERVED = [api.name for api in APIS]
BETWEEN_SERVERS = [name for name in NAMES if name not in SERVED]
API_VERSIONS = "api_versions"


class Captured(NamedTuple):
    api_name: str
    kind: str
    version: int
    payload: bytes
    """Header and body."""

    def __str__(self) -> str:
        return f"{self.kind} of {self.api_name} v{self.version}: {self.payload.hex()}"


@cache
def captured(api_name: str) -> tuple[Captured, ...]:
    lines = (FIXTURES / f"{api_name}.txt").read_text().splitlines()
    words = [line.split(" ") for line in lines]
    return tuple(Captured(api_name, kind, int(version), base64.b64decode(text)) for kind, version, text in words)


@cache
def shape_of(api_name: str, kind: str) -> type[Message]:
    """What servers say to each other has no module of its own yet, but the generator can make it."""
    if api_name in SERVED:
        return message_class(api_name, kind)
    namespace: dict[str, Any] = {}
    exec(load_generator().module_source(api_name), namespace)
    shape: type[Message] = namespace["".join(map(str.capitalize, api_name.split("_"))) + kind.capitalize()]
    return shape


def body_start(each: Captured, *, flexible: bool) -> int:
    if each.kind == "request":
        return read_request_header(memoryview(each.payload))[-1] + flexible
    return 4 + (flexible and each.api_name != API_VERSIONS)


def assert_round_trip(each: Captured, shape: type[Message]) -> Message:
    start = body_start(each, flexible=shape.layout.is_flexible(each.version))
    message, end = message_reader(shape, each.version)(each.payload, start)
    assert end == len(each.payload), f"{len(each.payload) - end} bytes are left of the {each}"
    out = bytearray(each.payload[:start])
    message_writer(shape, each.version)(out, message)
    assert out == each.payload, str(each)
    assert isinstance(message, Message)
    return message


def assert_kio_reads_the_same(each: Captured, message: Message) -> None:
    schema = kio_class(each.api_name, each.version, each.kind)
    # Where the body begins is for the right layout to say: kio does not read what a wrong one cuts off.
    start = body_start(each, flexible=shape_of(each.api_name, each.kind).layout.is_flexible(each.version))
    try:
        read, size = read_by_kio(schema, each.payload[start:])
    except (ValueError, SerialError) as error:
        assert re.search(CANNOT_READ, str(error)), str(each)  # noqa: PT017  # a few of many messages
        return
    assert size == len(each.payload) - start
    assert read == as_kio(message, schema), str(each)


@pytest.mark.parametrize("api_name", NAMES)
def test_kafkas_messages_are_read_and_written_again(api_name: str) -> None:
    for each in captured(api_name):
        shape = shape_of(api_name, each.kind)
        message = assert_round_trip(each, shape)
        assert_kio_reads_the_same(each, message)
        start = body_start(each, flexible=shape.layout.is_flexible(each.version))
        in_place = message_reader_in_place(shape, each.version)(memoryview(each.payload), start)
        assert in_place == (message, len(each.payload))


@pytest.mark.parametrize("api_name", NAMES)
def test_headers_have_no_tagged_fields(api_name: str) -> None:
    """Or their bytes would be read as part of the body."""
    for each in captured(api_name):
        flexible = shape_of(api_name, each.kind).layout.is_flexible(each.version)
        if body_start(each, flexible=flexible) != body_start(each, flexible=False):
            assert each.payload[body_start(each, flexible=False)] == 0, str(each)


NOT_SAID = {
    ("request", "add_offsets_to_txn"): [4],
    ("request", "add_partitions_to_txn"): [4],
    ("request", "alter_configs"): [0, 1, 2],
    ("request", "api_versions"): [1, 2, 3],
    ("request", "metadata"): [0],
    ("request", "offset_for_leader_epoch"): [2],
    ("request", "read_share_group_state_summary"): [0],
    ("request", "sasl_handshake"): [0],
    ("request", "write_share_group_state"): [0],
    ("response", "add_partitions_to_txn"): [4],
}
"""Versions that Kafka 4.3.1's clients and brokers do not speak to each other any more."""


def test_every_version_that_kafka_speaks_is_here() -> None:
    missing: dict[tuple[str, str], list[int]] = {}
    for api in APIS:
        for kind in ("request", "response"):
            absent = set(range(api.version_min, api.version_max + 1)) - by_version(api.name, kind).keys()
            if absent:
                missing[kind, api.name] = sorted(absent)
    assert missing == NOT_SAID


# --- would a mistake be found?


def is_found(mistaken: type[Message], samples: list[Captured]) -> bool:
    for each in samples:
        try:
            message = assert_round_trip(each, mistaken)
            # The size of a legacy string looks like an empty header and a compact size: then the values tell.
            if mistaken.layout.fields.keys() == shape_of(each.api_name, each.kind).layout.fields.keys():
                assert_kio_reads_the_same(each, message)
        except (AssertionError, *NOT_SUCH_A_MESSAGE):
            return True
    return False


def altered(shape: type[Message], fields: dict[str, Field], flexible_since: int) -> type[Message]:
    declared = {**fields, "__annotations__": dict.fromkeys(fields, Any)}
    versions = (shape.layout.first_version, shape.layout.last_version)
    mistaken: Any = MessageMeta(shape.__name__, (Message,), declared, versions=versions, flexible_since=flexible_since)
    return mistaken  # type: ignore[no-any-return]


def without_one_field(shape: type[Message], version: int) -> Iterator[tuple[str, type[Message]]]:
    """Each field of a version left out once, those of entities within it, too. Tagged fields are absent anyway."""
    fields, flexible_since = shape.layout.fields, shape.layout.flexible_since
    for name, field in fields.items():
        if not field.is_in(version) or field.tag is not None:
            continue
        yield name, altered(shape, {key: value for key, value in fields.items() if key != name}, flexible_since)
        of = field.element or field
        if of.entity is not None and of.entity is not shape:
            for inner, mistaken in without_one_field(of.entity, version):
                entity = of._replace(entity=mistaken)
                replaced = entity if field.element is None else field._replace(element=entity)
                yield f"{name}.{inner}", altered(shape, {**fields, name: replaced}, flexible_since)


def by_version(api_name: str, kind: str) -> dict[int, list[Captured]]:
    versions: dict[int, list[Captured]] = {}
    for each in captured(api_name):
        if each.kind == kind:
            versions.setdefault(each.version, []).append(each)
    return versions


@pytest.mark.parametrize("api_name", NAMES)
def test_a_wrong_first_flexible_version_would_be_found(api_name: str) -> None:
    for kind in ("request", "response"):
        shape = shape_of(api_name, kind)
        for version, samples in by_version(api_name, kind).items():
            wrong = NEVER if shape.layout.is_flexible(version) else 0
            fields = {
                name: field._replace(tag=None, first=NEVER) if field.tag is not None else field
                for name, field in shape.layout.fields.items()
            }
            assert is_found(altered(shape, fields, wrong), samples), f"{kind} v{version}"


@pytest.mark.parametrize("api_name", NAMES)
def test_a_missing_field_would_be_found(api_name: str) -> None:
    for kind in ("request", "response"):
        versions = by_version(api_name, kind)
        if not versions:
            continue
        newest = max(versions)
        for path, mistaken in without_one_field(shape_of(api_name, kind), newest):
            if "." not in path:
                assert is_found(mistaken, versions[newest]), f"{kind} v{newest}: {path}"
