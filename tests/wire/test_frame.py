"""Request headers: valid and invalid ones."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.codec import MalformedMessage
from barnabas.wire.frame import read_request_header, response_prefix, skip_tagged_fields
from barnabas.wire.primitives import read_uvarint, uvarint


def header(client_id: bytes | None, api_key: int = 18, version: int = 4, correlation_id: int = 7) -> bytes:
    size = -1 if client_id is None else len(client_id)
    return struct.pack(">hhih", api_key, version, correlation_id, size) + (client_id or b"")


def test_a_header_says_who_asks_what() -> None:
    read = read_request_header(memoryview(header(b"rdkafka") + b"rest"))
    assert read == (18, 4, 7, "rdkafka", len(header(b"rdkafka")))


def test_a_client_may_have_no_name() -> None:
    assert read_request_header(memoryview(header(None))) == (18, 4, 7, None, len(header(None)))


@pytest.mark.parametrize(
    "broken", [b"", b"\0\1", header(None)[:-1], struct.pack(">hhih", 1, 1, 1, 30000) + b"short", header(b"\xff\xfe")]
)
def test_a_broken_header_is_refused(broken: bytes) -> None:
    with pytest.raises(MalformedMessage):
        read_request_header(memoryview(broken))


def test_unknown_tagged_fields_are_skipped() -> None:
    fields = b"\x02" + b"\x00\x03abc" + b"\x85\x01\x00"
    assert skip_tagged_fields(memoryview(fields + b"body"), 0) == len(fields)


@pytest.mark.parametrize(
    "broken", [b"", b"\x01", b"\x01\x00\x7f", b"\xff\xff\xff\xff\xff\xff", b"\xff\xff\xff\x7f\x00"]
)
def test_broken_tagged_fields_are_refused(broken: bytes) -> None:
    with pytest.raises(MalformedMessage):
        skip_tagged_fields(memoryview(broken), 0)


@given(st.integers(0, 2**32 - 1))
def test_varints_come_back(value: int) -> None:
    data = uvarint(value)
    assert read_uvarint(data, 0) == (value, len(data))


def test_a_response_starts_with_its_size_and_correlation_id() -> None:
    assert response_prefix(9, 100, tagged=False) == struct.pack(">ii", 104, 9)
    assert response_prefix(9, 100, tagged=True) == struct.pack(">iib", 105, 9, 0)
