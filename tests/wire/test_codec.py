"""What we write is what kio writes, and what we read is what kio reads: for every API, version and direction."""

import dataclasses
import datetime
import importlib
import io
import random
import re
import struct
import typing
from typing import Any

import pytest
from fuzz.random_messages import RandomMessages
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError

from barnabas.wire.api_table import APIS, Api
from barnabas.wire.codec import (
    MalformedMessage,
    decode_request,
    decode_response,
    decode_response_in_place,
    encode,
    encode_request,
    encode_request_in_pieces,
    encode_response,
    message_class,
)
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsResponse
from barnabas.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.reader import message_reader_in_place
from barnabas.wire.schema import Message, array, string
from barnabas.wire.writer import (
    COPIED_BELOW_BYTES,
    ELEMENTS_IN_A_SLICE,
    message_writer_in_pieces,
    message_writer_in_slices,
)

ROUNDS = 6
VERSIONS = [(api, version) for api in APIS for version in range(api.version_min, api.version_max + 1)]
KIO_CANNOT_READ = "negative timestamp|milliseconds overflow"
NO_TIME = datetime.datetime.fromtimestamp(-0.001, datetime.UTC)
KINDS = (("request", encode_request, decode_request), ("response", encode_response, decode_response))


def kio_class(api_name: str, version: int, kind: str) -> Any:
    module = f"kio.schema.{api_name}.v{version}.{kind}"
    schema = vars(importlib.import_module(module)).values()
    # The message stands last in its module, after what is nested in it.
    return [value for value in schema if getattr(value, "__module__", "") == module][-1]


def as_kio(value: Any, annotation: Any) -> Any:
    """The same as an object of kio's."""
    arguments = typing.get_args(annotation)
    if value is None:
        return NO_TIME if isinstance(annotation, type) and issubclass(annotation, datetime.datetime) else None
    if type(None) in arguments:
        return as_kio(value, next(each for each in arguments if each is not type(None)))
    if typing.get_origin(annotation) is tuple:
        return tuple(as_kio(each, arguments[0]) for each in value)
    if not dataclasses.is_dataclass(annotation):
        return value
    hints = typing.get_type_hints(annotation)
    fields = {
        field.name: as_kio(getattr(value, field.name), hints[field.name]) for field in dataclasses.fields(annotation)
    }
    return typing.cast(Any, annotation)(**fields)


def by_kio(schema: Any, message: Message) -> bytes:
    buffer = io.BytesIO()
    entity_writer(schema)(buffer, as_kio(message, schema))
    return buffer.getvalue()


def in_slices(shape: type[Message], version: int, message: Message) -> tuple[bytes, int]:
    out = bytearray()
    pauses = sum(1 for _ in message_writer_in_slices(shape, version)(out, message))
    return bytes(out), pauses


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda each: each.name if isinstance(each, Api) else None)
def test_kio_writes_and_reads_the_same(api: Api, version: int) -> None:
    for kind, encode_kind, decode_kind in KINDS:
        shape, schema = message_class(api.name, kind), kio_class(api.name, version, kind)
        for seed in range(ROUNDS):
            messages = RandomMessages(random.Random(f"{api.name} {version} {kind} {seed}"))
            message = messages.entity(shape, version)
            written = encode_kind(api.name, version, message)
            assert written == by_kio(schema, message), f"{api.name} v{version} {kind}, seed {seed}"
            assert written == in_slices(shape, version, message)[0]
            assert written == b"".join(message_writer_in_pieces(shape, version)(message))
            assert decode_kind(api.name, version, written, 0) == message
            assert message_reader_in_place(shape, version)(memoryview(written), 0) == (message, len(written))
            try:
                read, _ = entity_reader(schema)(written, 0)
            except (ValueError, SerialError) as error:
                assert re.search(KIO_CANNOT_READ, str(error))  # noqa: PT017  # a few of many messages
            else:
                assert read == as_kio(message, schema)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_messages_cannot_be_changed(api: Api) -> None:
    for kind in ("request", "response"):
        message = message_class(api.name, kind)()
        for name in message.layout.fields:
            with pytest.raises(AttributeError):
                setattr(message, name, None)


def described(groups: int, members: int = 0) -> DescribeGroupsResponse:
    each = tuple(DescribedGroupMember(member_id=str(index)) for index in range(members))
    return DescribeGroupsResponse(
        groups=tuple(DescribedGroup(group_id=str(index), members=each) for index in range(groups))
    )


@pytest.mark.parametrize(
    ("groups", "members", "pauses"),
    [(1, 0, 0), (ELEMENTS_IN_A_SLICE - 1, 0, 0), (10 * ELEMENTS_IN_A_SLICE, 0, 10), (1, 10 * ELEMENTS_IN_A_SLICE, 10)],
)
def test_there_is_a_pause_every_few_elements(groups: int, members: int, pauses: int) -> None:
    assert in_slices(DescribeGroupsResponse, 5, described(groups, members))[1] == pauses


@pytest.mark.parametrize("version", [3, 9, 13])
def test_large_batches_are_not_copied_and_small_pieces_are_joined(version: int) -> None:
    sizes = [61, COPIED_BELOW_BYTES, 90, COPIED_BELOW_BYTES - 1, 2 * COPIED_BELOW_BYTES, 70_000, 200]
    batches = [memoryview(bytes(size)) for size in sizes]
    partitions = tuple(
        PartitionProduceData(index=index, records=typing.cast(bytes, batch)) for index, batch in enumerate(batches)
    )
    request = ProduceRequest(acks=-1, topic_data=(TopicProduceData(name="t", partition_data=partitions),))
    pieces = encode_request_in_pieces("produce", version, request)
    assert b"".join(pieces) == encode_request("produce", version, request)
    assert [id(piece) for piece in pieces if isinstance(piece, memoryview)] == [id(batches[n]) for n in (1, 4, 5)]
    assert len(pieces) == 7


def test_records_that_are_read_in_place_are_parts_of_the_frame() -> None:
    partition = PartitionData(partition_index=3, records=b"records")
    response = FetchResponse(responses=(FetchableTopicResponse(topic="t", partitions=(partition,)),))
    frame = bytearray(encode_response("fetch", 12, response))
    read = decode_response_in_place("fetch", 12, memoryview(frame))
    assert read == response
    frame[frame.index(b"records")] ^= 0x20
    assert bytes(read.responses[0].partitions[0].records) == b"Records"
    for size in range(len(frame)):
        with pytest.raises(MalformedMessage):
            decode_response_in_place("fetch", 12, memoryview(frame)[:size])


class Empty(Message):
    pass


class Texts(Message):
    texts: tuple[str, ...] = array("string")
    name: str = string()


def test_stored_records_are_written_too() -> None:
    assert encode(Empty()) == b""
    assert encode(Texts(texts=("a", "bc"), name="n")) == b"\0\0\0\2\0\1a\0\2bc\0\1n"


def test_a_string_that_is_too_long_for_its_size_is_refused() -> None:
    with pytest.raises(struct.error):
        encode(Texts(name="x" * 32_768))
