"""What the compiled writers write is what kio's writer writes: for every API, version and direction."""

import dataclasses
import importlib
import io
import random
import struct
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from kio.serial import entity_writer

from barnabas.wire.api_table import APIS, Api
from barnabas.wire.codec import encode_request, encode_response, message_schema
from barnabas.wire.compiled_writer import ENTITIES_IN_A_SLICE, compiled_writer, compiled_writer_in_slices
from barnabas.wire.entities import array_of, kafka_entity, string
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsResponse
from barnabas.wire.schema_fields import FieldShape, shape_of

_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_UNSIGNED_BITS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
ROUNDS = 3


def random_message(rng: random.Random, shapes: Any, schema: Any) -> Any:
    """A message of the API's class, with random values that one version can encode."""
    values = {}
    for field in dataclasses.fields(schema):
        is_default = "tag" in field.metadata and rng.random() < 0.5
        if not is_default:
            values[field.name] = random_value(rng, shapes, shape_of(field), nullable="tag" not in field.metadata)
    return getattr(shapes, schema.__name__)(**values)


def random_value(rng: random.Random, shapes: Any, shape: FieldShape, *, nullable: bool = True) -> Any:
    if shape.is_nullable and nullable and rng.random() < 0.3:
        return None
    if shape.is_array:
        element = shape._replace(is_array=False, is_nullable=False)
        count = rng.choice((0, 1, 2, ENTITIES_IN_A_SLICE + 1 if rng.random() < 0.1 else 3))
        return tuple(random_value(rng, shapes, element) for _ in range(count))
    if shape.entity is not None:
        return random_message(rng, shapes, shape.entity)
    return random_primitive(rng, shape.kafka_type or "")


def random_primitive(rng: random.Random, kafka_type: str) -> Any:
    if kafka_type in _BITS:
        return rng.randint(-(2 ** _BITS[kafka_type]), 2 ** _BITS[kafka_type] - 1)
    if kafka_type in _UNSIGNED_BITS:
        return rng.getrandbits(_UNSIGNED_BITS[kafka_type])
    match kafka_type:
        case "string":
            return "".join(rng.choices("abc-é☃", k=rng.choice((0, 1, 5, 126, 127, 128, 300))))
        case "bytes" | "records":
            return rng.randbytes(rng.choice((0, 1, 126, 127, 200)))
        case "bool":
            return rng.random() < 0.5
        case "float64":
            return rng.random()
        case "uuid":
            return uuid.UUID(int=rng.getrandbits(128)) if rng.random() < 0.8 else None
        case "error_code":
            return rng.choice(list(ErrorCode))
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(milliseconds=rng.randint(-1, 2**31 - 1))
        case "datetime_i64":
            return datetime.fromtimestamp(rng.randint(0, 2**32), UTC)
    raise AssertionError(f"no value of type {kafka_type}")


def by_kio(schema: Any, message: object) -> bytes:
    buffer = io.BytesIO()
    entity_writer(schema)(buffer, message)
    return buffer.getvalue()


def in_slices(schema: Any, message: object) -> tuple[bytes, int]:
    write = compiled_writer_in_slices(schema)
    out = bytearray()
    if write is None:
        compiled_writer(schema)(out, message)
        return bytes(out), 0
    pauses = sum(1 for _ in write(out, message))
    return bytes(out), pauses


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_the_bytes_are_kios(api: Api) -> None:
    shapes = importlib.import_module(f"barnabas.wire.messages.{api.name}")
    for version in range(api.version_min, api.version_max + 1):
        for kind, encode in (("request", encode_request), ("response", encode_response)):
            schema = message_schema(api.name, version, kind)
            for seed in range(ROUNDS):
                message = random_message(random.Random(f"{api.name} {version} {kind} {seed}"), shapes, schema)
                written = encode(api.name, version, message)
                assert written == by_kio(schema, message), f"{api.name} v{version} {kind}, seed {seed}"
                assert written == in_slices(schema, message)[0]


def described(groups: int, members: int = 0) -> DescribeGroupsResponse:
    each = tuple(DescribedGroupMember(member_id=str(index)) for index in range(members))
    return DescribeGroupsResponse(
        groups=tuple(DescribedGroup(group_id=str(index), members=each) for index in range(groups))
    )


@pytest.mark.parametrize(
    ("groups", "members", "pauses"),
    [(1, 0, 0), (ENTITIES_IN_A_SLICE - 1, 0, 0), (10 * ENTITIES_IN_A_SLICE, 0, 10), (1, 10 * ENTITIES_IN_A_SLICE, 10)],
)
def test_there_is_a_pause_every_few_entities(groups: int, members: int, pauses: int) -> None:
    schema = message_schema("describe_groups", 5, "response")
    assert in_slices(schema, described(groups, members))[1] == pauses


def test_an_entity_without_arrays_of_entities_has_no_slices() -> None:
    assert compiled_writer_in_slices(message_schema("heartbeat", 4, "response")) is None


@kafka_entity(version=0, flexible=False)
class Empty:
    pass


@kafka_entity(version=0, flexible=False)
class Texts:
    texts: tuple[str, ...] | None = array_of("string")
    name: str = string()


def test_entities_of_our_own_are_written_too() -> None:
    out = bytearray()
    compiled_writer(Empty)(out, Empty())
    assert out == b""
    texts = Texts(texts=("a", "bc"), name="n")
    compiled_writer(Texts)(out, texts)
    assert out == by_kio(Texts, texts) == b"\0\0\0\2\0\1a\0\2bc\0\1n"


def test_a_string_that_is_too_long_for_its_size_is_refused() -> None:
    with pytest.raises(struct.error):
        compiled_writer(Texts)(bytearray(), Texts(name="x" * 32_768))
