"""Large requests that arrive slowly stay within their memory limit; small ones do not wait."""

import socket
import struct
from collections.abc import Iterator

import pytest

from barnabas.server.request_memory import RequestMemory
from barnabas.testing import Broker
from barnabas.testing.client import Client, request_header
from barnabas.wire.codec import encode_request
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

MEBIBYTE = 1024 * 1024


class Reader:
    """Needs so many bytes, and retries when it is notified."""

    def __init__(self, memory: RequestMemory, size: int) -> None:
        self._memory = memory
        self.size = size
        self.has_it = False

    def retry_reserve(self) -> None:
        self.has_it = self._memory.reserve(self, self.size)


def test_past_the_bound_readers_wait_and_get_their_turn_in_order() -> None:
    memory = RequestMemory(100)
    first, second, third, fourth = (Reader(memory, 60) for _ in range(4))
    for reader in (first, second, third, fourth):
        reader.retry_reserve()
    assert [reader.has_it for reader in (first, second, third, fourth)] == [True, True, False, False]
    assert memory.reserved_bytes == 120
    memory.free(60)
    assert [third.has_it, fourth.has_it] == [True, False]
    memory.forget(fourth)
    memory.free(60)
    memory.free(60)
    assert memory.reserved_bytes == 0
    assert not fourth.has_it


def test_a_request_larger_than_the_bound_is_taken_alone() -> None:
    memory = RequestMemory(100)
    large, small = Reader(memory, 1000), Reader(memory, 10)
    large.retry_reserve()
    small.retry_reserve()
    assert (large.has_it, small.has_it) == (True, False)
    memory.free(1000)
    assert small.has_it


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(properties={"queued.max.request.bytes": str(MEBIBYTE)}) as broker:
        yield broker


def large_request(client: Client) -> bytes:
    """A whole frame of a good megabyte: the metadata of topics that have long names and do not exist."""
    topics = tuple(MetadataRequestTopic(name=f"{index:0>240}") for index in range(5000))
    body = encode_request("metadata", 4, MetadataRequest(topics=topics, allow_auto_topic_creation=False))
    payload = request_header("metadata", 4, 7, client.client_id) + body
    assert len(payload) > MEBIBYTE
    return struct.pack(">i", len(payload)) + payload


def is_served(client: Client) -> bool:
    answer = client.call("api_versions", 3, ApiVersionsRequest(client_software_name="t", client_software_version="1"))
    return bool(answer.error_code == ErrorCode.none)


def takes_no_more(client: Client, data: bytes) -> bool:
    """Whether the broker has stopped reading: the kernel's buffers fill up, and no more can be sent."""
    client._socket.settimeout(1)
    try:
        client.send_bytes(data)
    except TimeoutError:
        return True
    finally:
        client._socket.settimeout(10)
    return False


def test_one_large_request_at_a_time_and_small_ones_beside_it(broker: Broker) -> None:
    with broker.connect() as slow, broker.connect() as waiting, broker.connect() as small:
        frame = large_request(slow)
        half = len(frame) // 2
        slow.send_bytes(frame[:half])  # it has all of the memory now, and is slow
        assert is_served(small)
        waiting._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
        announced = struct.pack(">i", 64 * MEBIBYTE)
        assert takes_no_more(waiting, announced + bytes(32 * MEBIBYTE))
        assert is_served(small)
        slow.send_bytes(frame[half:])
        (correlation_id,) = struct.unpack_from(">i", slow.receive_frame())
        assert correlation_id == 7
        assert is_served(slow)


def test_who_waits_is_served_when_the_one_before_goes_away(broker: Broker) -> None:
    with broker.connect() as waiting:
        frame = large_request(waiting)
        with broker.connect() as slow:
            slow.send_bytes(frame[: len(frame) // 2])
            assert is_served(waiting)
            waiting.send_bytes(frame[:200_000])
        waiting.send_bytes(frame[200_000:])
        (correlation_id,) = struct.unpack_from(">i", waiting.receive_frame())
        assert correlation_id == 7
