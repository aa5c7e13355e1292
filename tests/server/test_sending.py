"""Parts of files in answers: they arrive as the file's bytes, in order, whatever the socket has room for."""

import asyncio
import os
import random
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
import uvloop

from barnabas.env import FileRange, RealDisk
from barnabas.records.record import Record, build_batch
from barnabas.server.sending import send
from barnabas.testing import Broker
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

CONTENT = random.Random(5).randbytes(3_000_000)
LOOPS = (asyncio.new_event_loop, uvloop.new_event_loop)


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = tmp_path / "segment.log"
    path.write_bytes(CONTENT)
    return str(path)


def cached(path: str, position: int, size: int) -> FileRange:
    file = RealDisk().open(path)
    file.read_at(0, len(CONTENT))
    found = file.cached_range(position, size)
    assert found is not None
    return found


def exchange(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
    respond: Callable[[asyncio.Transport], None],
    *,
    room_bytes: int | None = None,
) -> bytes:
    """What a client receives that reads slowly."""

    class Server(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            connected = cast(asyncio.Transport, transport)
            if room_bytes is not None:
                transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, room_bytes)
            respond(connected)
            connected.close()

    async def main() -> bytes:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Server, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), limit=4096)
        received = bytearray()
        async with asyncio.timeout(30):
            while data := await reader.read(random.Random(len(received)).randrange(1, 60_000)):
                received += data
        writer.close()
        server.close()
        return bytes(received)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(main())


@pytest.mark.parametrize("new_loop", LOOPS)
@pytest.mark.parametrize("room_bytes", [None, 4096, 100_000])
def test_what_the_socket_has_no_room_for_follows(
    path: str, new_loop: Callable[[], asyncio.AbstractEventLoop], room_bytes: int | None
) -> None:
    parts = [b"head", cached(path, 10, 1_000_000), b"between", cached(path, 2_000_000, 999_999), b"tail"]

    def respond(transport: asyncio.Transport) -> None:
        send(transport, parts)
        send(transport, [b"next", cached(path, 5, 70_000)])

    expected = b"head" + CONTENT[10:1_000_010] + b"between" + CONTENT[2_000_000:2_999_999] + b"tail"
    assert exchange(new_loop, respond, room_bytes=room_bytes) == expected + b"next" + CONTENT[5:70_005]


@pytest.mark.parametrize("new_loop", LOOPS)
def test_what_was_written_before_comes_before(path: str, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    def respond(transport: asyncio.Transport) -> None:
        transport.write(CONTENT)
        send(transport, [b"head", cached(path, 0, 100_000)])
        transport.write(b"later")

    assert exchange(new_loop, respond, room_bytes=4096) == CONTENT + b"head" + CONTENT[:100_000] + b"later"


def test_a_deleted_file_is_sent_to_its_end(path: str) -> None:
    part = cached(path, 1, 2_000_000)
    os.unlink(path)
    assert exchange(uvloop.new_event_loop, lambda transport: send(transport, [b"head", part]), room_bytes=4096) == (
        b"head" + CONTENT[1:2_000_001]
    )


def test_a_file_that_was_cut_off_is_an_error(path: str) -> None:
    part = cached(path, 0, 2_000_000)
    os.truncate(path, 1_000)
    errors = []

    def respond(transport: asyncio.Transport) -> None:
        try:
            send(transport, [b"head", part])
        except EOFError as error:
            errors.append(str(error))

    assert exchange(uvloop.new_event_loop, respond).removeprefix(b"head") == CONTENT[:1_000]
    assert errors == ["the file ends 1999000 bytes too early"]


def test_a_simulated_file_has_no_such_parts() -> None:
    from barnabas.testing.disk import SimulatedDisk

    disk = SimulatedDisk()
    disk.replace_file("/log", CONTENT)
    assert disk.open("/log").cached_range(0, 100_000) is None  # type: ignore[func-returns-value]


# --- a broker


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as running:
        running.create_topic("t")
        yield running


def produced(broker: Broker, batches: int) -> bytes:
    """Batches of 100 KB."""
    stored = b""
    with broker.connect() as client:
        for offset in range(batches):
            records = [Record(timestamp=1, value=random.Random(offset).randbytes(100_000))]
            batch = PartitionProduceData(index=0, records=build_batch(records))
            data = TopicProduceData(name="t", partition_data=(batch,))
            client.call("produce", 9, ProduceRequest(acks=-1, topic_data=(data,)))
            stored += build_batch(
                [Record(timestamp=1, value=random.Random(offset).randbytes(100_000))],
                base_offset=offset,
                leader_epoch=0,
            )
    return stored


def fetch(max_bytes: int, offset: int = 0) -> FetchRequest:
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(max_bytes=max_bytes, topics=(FetchTopic(topic="t", partitions=(asked,)),))


@pytest.mark.parametrize("version", [4, 11, 12])
def test_large_fetches_get_the_bytes_of_the_log(broker: Broker, version: int) -> None:
    stored = produced(broker, 30)
    with broker.connect() as client:
        for max_bytes in (64 * 1024, 250_000, 3_500_000):
            (topic,) = client.call("fetch", version, fetch(max_bytes)).responses
            assert topic.partitions[0].records == stored[: max(max_bytes, len(stored) // 30)]


def test_answers_keep_their_order_and_content_when_many_are_asked_for_at_once(broker: Broker) -> None:
    """A client that sends all of its requests before it reads: most answers wait for room in the socket."""
    stored = produced(broker, 30)
    with broker.connect() as client:
        for offset in range(30):
            client.send("fetch", 12, fetch(1_000_000, offset))
        for offset in range(30):
            (topic,) = client.receive().responses
            at = offset * (len(stored) // 30)
            assert topic.partitions[0].records == stored[at : at + 1_000_000]


def test_a_client_that_leaves_disturbs_nobody(broker: Broker) -> None:
    stored = produced(broker, 30)
    for _ in range(5):
        client = broker.connect()
        for _ in range(5):
            client.send("fetch", 12, fetch(3_500_000))
        client._socket.close()
        client.forget()
    with broker.connect() as client:
        (topic,) = client.call("fetch", 12, fetch(3_500_000)).responses
        assert topic.partitions[0].records == stored
