"""The simulated network: streams, flow control, and each fault that a connection can meet."""

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.testing.simulation import SimulatedNode, Simulation

PORT = 7000


class World:
    """Two nodes; the server echoes what it gets."""

    def __init__(self, seed: int = 1) -> None:
        self.simulation = Simulation(seed)
        self.server = self.simulation.node("server", self._serve)
        self.client = self.simulation.node("client")
        self.endings: list[object] = []

    async def _serve(self, node: SimulatedNode) -> None:
        server = await asyncio.start_server(self._echo, "0.0.0.0", PORT)
        await server.serve_forever()

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1000):
                writer.write(data)
                await writer.drain()
            self.endings.append("end")
        except OSError as error:
            self.endings.append(error)
        writer.close()

    def run(self, scenario: Callable[["World"], Awaitable[None]]) -> None:
        async def main() -> None:
            self.server.start()
            await asyncio.sleep(0.01)
            await self.client.run(lambda: scenario(self))

        self.simulation.run(main())


async def small_amounts_arrive(world: World) -> None:
    reader, writer = await asyncio.open_connection("server", PORT)
    writer.write(b"hello")
    assert await reader.readexactly(5) == b"hello"
    assert writer.get_extra_info("peername") == (world.server.address, PORT)
    assert writer.get_extra_info("sockname")[0] == world.client.address
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1000)
    writer.write_eof()
    assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    assert world.endings == ["end"]


async def large_amounts_arrive_whole_and_stop_the_writer(world: World) -> None:
    reader, writer = await asyncio.open_connection("server", PORT)
    sent = b"".join(number.to_bytes(4) for number in range(500_000))
    writer.write(sent)
    assert writer.transport.get_write_buffer_size() > 0
    drained = asyncio.ensure_future(writer.drain())
    await asyncio.sleep(1)
    assert not drained.done()  # the echo is not read, so nothing moves
    received = await reader.readexactly(len(sent))
    await drained
    assert received == sent
    writer.close()


async def a_host_where_nobody_listens_refuses(world: World) -> None:
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("server", PORT + 1)
    world.server.kill()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("server", PORT)


async def a_name_that_nobody_has_is_not_found(world: World) -> None:
    with pytest.raises(socket.gaierror):
        await asyncio.open_connection("elsewhere", PORT)


async def a_host_without_power_does_not_answer(world: World) -> None:
    world.server.power_cut()
    before_ms = world.simulation.now_ms
    with pytest.raises(TimeoutError):
        await asyncio.open_connection("server", PORT)
    assert world.simulation.now_ms - before_ms == pytest.approx(127_000, abs=100)


async def a_kill_resets_connections(world: World) -> None:
    reader, writer = await asyncio.open_connection("server", PORT)
    world.server.kill()
    with pytest.raises(ConnectionResetError):
        await reader.read(1)
    writer.close()


async def a_power_cut_leaves_the_peer_half_open_until_it_sends(world: World) -> None:
    reader, writer = await asyncio.open_connection("server", PORT)
    await asyncio.sleep(1)
    world.server.power_cut()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.read(1), 3600)
    world.server.start()
    writer.write(b"are you there?")
    with pytest.raises(ConnectionResetError):
        await reader.read(1)
    writer.close()


async def a_cut_delays_bytes_and_loses_none(world: World) -> None:
    reader, writer = await asyncio.open_connection("server", PORT)
    world.simulation.network.cut("client", "server")
    writer.write(b"before")
    await asyncio.sleep(10)
    writer.write(b" and after")
    world.simulation.network.heal("client", "server")
    assert await reader.readexactly(16) == b"before and after"
    writer.close()


@pytest.mark.parametrize(("source", "target"), [("client", "server"), ("server", "client")])
def test_a_one_way_cut_stops_one_direction(source: str, target: str) -> None:
    async def scenario(world: World) -> None:
        reader, writer = await asyncio.open_connection("server", PORT)
        world.simulation.network.cut(source, target, one_way=True)
        writer.write(b"hello")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 10)
        assert world.simulation.network.is_open(world.server.host, world.client.host) is (source == "client")
        world.simulation.network.heal(source, target, one_way=True)
        assert await reader.readexactly(5) == b"hello"
        writer.close()

    World().run(scenario)


async def tcp_gives_up_after_a_long_cut(world: World) -> None:
    reader, writer = await asyncio.open_connection("server", PORT)
    world.simulation.network.cut("client", "server")
    writer.write(b"lost")
    with pytest.raises(TimeoutError) as caught:
        await reader.read(1)
    assert caught.value.errno == errno.ETIMEDOUT
    assert world.simulation.now_ms > 900_000
    writer.close()


async def a_reset_is_seen_by_both_ends(world: World) -> None:
    reader, writer = await asyncio.open_connection("server", PORT)
    await asyncio.sleep(1)
    assert world.simulation.network.reset_connections("client", "server") == 1
    with pytest.raises(ConnectionResetError):
        await reader.read(1)
    await asyncio.sleep(1)
    assert [type(each) for each in world.endings] == [ConnectionResetError]
    writer.close()


async def a_paused_process_takes_connections_and_answers_when_it_is_resumed(world: World) -> None:
    world.server.pause()
    reader, writer = await asyncio.open_connection("server", PORT)
    writer.write(b"hello")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.read(1), 3600)
    world.server.resume()
    assert await reader.readexactly(5) == b"hello"
    writer.close()


async def latency_is_adjustable_one_way(world: World) -> None:
    world.simulation.network.set_latency("server", "client", ms_min=500, ms_max=500)
    reader, writer = await asyncio.open_connection("server", PORT)
    before_ms = world.simulation.now_ms
    writer.write(b"hello")
    await reader.readexactly(1)
    assert 500 <= world.simulation.now_ms - before_ms <= 510
    writer.close()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "scenario",
    [
        small_amounts_arrive,
        large_amounts_arrive_whole_and_stop_the_writer,
        a_host_where_nobody_listens_refuses,
        a_name_that_nobody_has_is_not_found,
        a_host_without_power_does_not_answer,
        a_kill_resets_connections,
        a_power_cut_leaves_the_peer_half_open_until_it_sends,
        a_cut_delays_bytes_and_loses_none,
        tcp_gives_up_after_a_long_cut,
        a_reset_is_seen_by_both_ends,
        a_paused_process_takes_connections_and_answers_when_it_is_resumed,
        latency_is_adjustable_one_way,
    ],
)
def test_connections(scenario: Callable[[World], Awaitable[None]], seed: int) -> None:
    World(seed).run(scenario)


class Recorder(asyncio.BufferedProtocol):
    """Takes three bytes at a time."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.events: list[object] = []
        self._buffer = bytearray(3)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._buffer)

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self._buffer[:nbytes]

    def eof_received(self) -> bool:
        self.events.append("eof")
        return True

    def connection_lost(self, error: Exception | None) -> None:
        self.events.append(error)


def test_a_buffered_protocol_is_filled_in_place_and_can_pause() -> None:
    async def scenario(world: World) -> None:
        transport, protocol = await asyncio.get_running_loop().create_connection(Recorder, "server", PORT)
        transport.write(b"0123456789")
        await asyncio.sleep(1)
        assert bytes(protocol.received) == b"0123456789"
        transport.pause_reading()
        transport.writelines([b"ab", b"cd"])
        await asyncio.sleep(1)
        assert len(protocol.received) == 10
        transport.resume_reading()
        transport.write_eof()
        await asyncio.sleep(1)
        assert bytes(protocol.received) == b"0123456789abcd"
        assert protocol.events == ["eof"]
        transport.close()
        await asyncio.sleep(1)
        assert protocol.events == ["eof", None]

    World().run(scenario)


@pytest.mark.parametrize(("count", "heard"), [(3, 2), (4, 3), (5, 3)])
def test_in_a_majority_ring_each_node_hears_another_majority(count: int, heard: int) -> None:
    simulation = Simulation(1)
    nodes = [simulation.node(f"n{number}") for number in range(count)]
    simulation.network.leave_majority_ring([node.name for node in nodes])
    windows = {
        tuple(other.name for other in nodes if simulation.network.is_open(other.host, node.host)) for node in nodes
    }
    assert len(windows) == count
    assert {len(window) for window in windows} == {heard}
    simulation.network.heal_all()
    assert all(simulation.network.is_open(a.host, b.host) for a in nodes for b in nodes)
