"""A node's end takes with it what belongs to its process, and nothing else."""

import asyncio
from collections.abc import Callable

import pytest

from barnabas.testing.simulation import NodeStopped, SimulatedNode, Simulation, UnhandledException

FILE = "/data/file"


def write(node: SimulatedNode, data: bytes, *, sync: bool) -> None:
    node.disk.make_dirs("/data")
    file = node.disk.open(FILE, create=True)
    file.write_at(file.size(), [data])
    if sync:
        file.sync()
        node.disk.sync_dir("/data")


class Ticker:
    """A service that counts in memory and on its disk, with a worker call always in progress."""

    def __init__(self, simulation: Simulation, name: str) -> None:
        self.ticks: list[int] = []
        self.cleaned = 0
        self.node = simulation.node(name, self._run)

    async def _run(self, node: SimulatedNode) -> None:
        try:
            while True:
                await node.workers.run(lambda: write(node, b".", sync=True))
                self.ticks.append(node.simulation.now_ms)
                asyncio.get_running_loop().call_later(0.05, self.ticks.append, -1)
                await asyncio.sleep(0.1)
        finally:
            self.cleaned += 1
            asyncio.get_running_loop().call_soon(self.ticks.append, -2)
            await node.workers.run(lambda: write(node, b"from a dead process", sync=True))


@pytest.mark.parametrize("end", [SimulatedNode.kill, SimulatedNode.power_cut, SimulatedNode.end])
def test_nothing_of_a_dead_process_goes_on_and_others_do(end: Callable[[SimulatedNode], None]) -> None:
    simulation = Simulation(3)
    one, other = Ticker(simulation, "one"), Ticker(simulation, "other")

    async def scenario() -> None:
        one.node.start()
        other.node.start()
        await asyncio.sleep(1.02)
        end(one.node)
        ticks, size = list(one.ticks), len(other.ticks)
        await asyncio.sleep(1)
        assert one.ticks == ticks
        assert len(other.ticks) > size + 15
        one.node.start()
        await asyncio.sleep(1)
        assert len(one.ticks) > len(ticks) + 15
        assert -2 not in one.ticks

    simulation.run(scenario())
    assert one.cleaned == 2
    assert b"dead" not in one.node.disk._file(FILE).current


@pytest.mark.parametrize("seed", range(5))
def test_a_kill_keeps_what_was_written_and_a_power_cut_what_was_synced(seed: int) -> None:
    simulation = Simulation(seed)
    node = simulation.node("node")

    async def read() -> bytes:
        return node.disk.read_file(FILE)

    async def scenario() -> None:
        async def store() -> None:
            write(node, b"synced ", sync=True)
            write(node, b"written", sync=False)

        await node.run(store)
        node.kill()
        node.start()
        assert await node.run(read) == b"synced written"
        node.power_cut()
        node.start()
        assert b"synced written".startswith(await node.run(read))
        assert (await node.run(read)).startswith(b"synced ")
        node.kill()
        node.lose_disk()
        node.start()
        with pytest.raises(FileNotFoundError):
            await node.run(read)

    simulation.run(scenario())
    assert simulation.counters == {"kills": 2, "power cuts": 1, "lost disks": 1}


def test_the_power_can_fail_in_the_middle_of_a_job() -> None:
    simulation = Simulation(1)
    ticks = Ticker(simulation, "node")

    async def scenario() -> int:
        ticks.node.start()
        await asyncio.sleep(0.5)
        ticks.node.power_cut_at_change(2)
        await asyncio.sleep(0.5)
        assert not ticks.node.is_running
        count = len(ticks.ticks)
        ticks.node.start()
        await asyncio.sleep(0.5)
        return len(ticks.ticks) - count

    assert simulation.run(scenario()) > 5
    assert simulation.counters["power cuts"] == 1


def test_who_waits_for_a_call_on_a_node_learns_that_it_stopped() -> None:
    simulation = Simulation(1)
    node = simulation.node("node")

    async def scenario() -> None:
        for end in (node.kill, node.power_cut):
            waiting = asyncio.ensure_future(node.run(lambda: asyncio.sleep(60)))
            await asyncio.sleep(1)
            end()
            with pytest.raises(NodeStopped):
                await waiting
            with pytest.raises(NodeStopped):
                await node.run(lambda: asyncio.sleep(1))
            node.start()

    simulation.run(scenario())


def test_a_call_that_is_cancelled_is_cancelled_there() -> None:
    simulation = Simulation(1)
    node = simulation.node("node")
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    async def scenario() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(node.run(wait), 1)
        await asyncio.sleep(0.1)

    simulation.run(scenario())
    assert ended == ["cancelled"]
    assert simulation.now_ms < 2000


def test_a_paused_node_does_nothing_until_it_is_resumed() -> None:
    simulation = Simulation(1)
    ticks = Ticker(simulation, "node")

    async def scenario() -> None:
        ticks.node.start()
        await asyncio.sleep(1)
        ticks.node.pause()
        count = len(ticks.ticks)
        await asyncio.sleep(60)
        assert len(ticks.ticks) == count
        ticks.node.resume()
        await asyncio.sleep(1)
        assert len(ticks.ticks) > count + 10

    simulation.run(scenario())


def test_a_slow_disk_is_slow() -> None:
    simulation = Simulation(1)
    node = simulation.node("node")

    async def measure() -> int:
        before_ms = simulation.now_ms
        await node.workers.run(lambda: write(node, b"x", sync=True))
        return simulation.now_ms - before_ms

    async def scenario() -> tuple[int, int]:
        normal = sum([await node.run(measure) for _ in range(20)])
        node.disk_speed.slowness = 1000
        return normal, sum([await node.run(measure) for _ in range(20)])

    normal, slow = simulation.run(scenario())
    assert normal < 100
    assert slow > 5_000


def test_clocks_differ_and_jump_while_timers_do_not() -> None:
    simulation = Simulation(1)
    right, wrong = simulation.node("right"), simulation.node("wrong")
    wrong.clock.skew_ms = 250
    wrong.clock.drift_ppm = 1_000_000

    async def scenario() -> None:
        await asyncio.sleep(10)
        assert wrong.clock.now_ms() - right.clock.now_ms() == 10_250
        wrong.clock.jump(-3_600_000)
        assert wrong.clock.now_ms() - right.clock.now_ms() == 10_250 - 3_600_000
        before_ms = wrong.clock.monotonic_ms()
        await wrong.run(lambda: wrong.clock.sleep_ms(1000))
        assert wrong.clock.monotonic_ms() - before_ms == pytest.approx(1000, abs=5)

    simulation.run(scenario())


def test_a_service_that_fails_fails_the_run() -> None:
    simulation = Simulation(1)

    async def fail(node: SimulatedNode) -> None:
        raise ValueError("a defect")

    async def scenario() -> None:
        simulation.node("node", fail).start()
        await asyncio.sleep(1)

    with pytest.raises(UnhandledException, match=r"the service of node failed.*a defect"):
        simulation.run(scenario())
