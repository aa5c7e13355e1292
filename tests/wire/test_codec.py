"""What we write is what kio writes, and what we read is what kio reads: for every API, version and direction."""

import random
import re
import struct
import typing

import pytest
from fuzz.kio_messages import CANNOT_READ, as_kio, kio_class, read_by_kio, written_by_kio
from fuzz.random_messages import RandomMessages
from kio.serial.errors import SerialError

from barnabas.wire.api_table import ALL_APIS, Api
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

ROUNDS_MIN = 6
MESSAGES_MIN = 30
VERSIONS = [(api, version) for api in ALL_APIS for version in range(api.version_min, api.version_max + 1)]
KINDS = (("request", encode_request, decode_request), ("response", encode_response, decode_response))


def rounds(api: Api) -> int:
    """For each version and direction: more where there are few versions."""
    return max(ROUNDS_MIN, MESSAGES_MIN // (api.version_max - api.version_min + 1))


def in_slices(shape: type[Message], version: int, message: Message) -> tuple[bytes, int]:
    out = bytearray()
    pauses = sum(1 for _ in message_writer_in_slices(shape, version)(out, message))
    return bytes(out), pauses


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda each: each.name if isinstance(each, Api) else None)
def test_kio_writes_and_reads_the_same(api: Api, version: int) -> None:
    for kind, encode_kind, decode_kind in KINDS:
        shape, schema = message_class(api.name, kind), kio_class(api.name, version, kind)
        for seed in range(rounds(api)):
            messages = RandomMessages(random.Random(f"{api.name} {version} {kind} {seed}"))
            message = messages.entity(shape, version)
            written = encode_kind(api.name, version, message)
            assert written == written_by_kio(schema, message), f"{api.name} v{version} {kind}, seed {seed}"
            assert written == in_slices(shape, version, message)[0]
            assert written == b"".join(message_writer_in_pieces(shape, version)(message))
            assert decode_kind(api.name, version, written, 0) == message
            assert message_reader_in_place(shape, version)(memoryview(written), 0) == (message, len(written))
            try:
                read, _ = read_by_kio(schema, written)
            except (ValueError, SerialError) as error:
                assert re.search(CANNOT_READ, str(error))  # noqa: PT017  # a few of many messages
            else:
                assert read == as_kio(message, schema)


def absent_and_null(shape: type[Message], version: int, message: Message) -> set[tuple[str, str]]:
    """What a message shows of its layout: tagged fields that are there and not there, nulls and what is not null."""
    seen = set()
    for name, field in shape.layout.fields.items():
        if not field.is_in(version):
            continue
        value = getattr(message, name)
        if field.tag is not None:
            seen.add((f"{shape.__name__}.{name}", "absent" if value == field.default else "present"))
        elif version >= field.nullable_since:
            seen.add((f"{shape.__name__}.{name}", "null" if value is None else "not null"))
        of = field.element or field
        if of.entity is not None and value is not None:
            for each in value if field.element is not None else (value,):
                seen |= absent_and_null(of.entity, version, each)
    return seen


@pytest.mark.parametrize("kind", ["request", "response"])
@pytest.mark.parametrize("api", ALL_APIS, ids=lambda api: api.name)
def test_random_messages_have_every_null_and_tagged_field(api: Api, kind: str) -> None:
    """Over all versions: or the comparison with kio would say little about these."""
    shape, seen = message_class(api.name, kind), set()
    for version in range(api.version_min, api.version_max + 1):
        for seed in range(rounds(api)):
            messages = RandomMessages(random.Random(f"{api.name} {version} {kind} {seed}"))
            seen |= absent_and_null(shape, version, messages.entity(shape, version))
    other = {"null": "not null", "not null": "null", "absent": "present", "present": "absent"}
    assert {(name, other[what]) for name, what in seen} == seen


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
