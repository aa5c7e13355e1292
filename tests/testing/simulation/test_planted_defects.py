"""The general workload finds defects that are built in on purpose, so its silence means something."""

import subprocess
import sys

import pytest

from barnabas.testing.disk_nodes import FileNode
from barnabas.testing.simulation import SimulatedBroker, Simulation
from barnabas.testing.simulation.disk import NodeDisk
from barnabas.testing.simulation.replay import digest_in_new_process
from barnabas.testing.simulation.workload.history import BrokenPromise
from barnabas.testing.simulation.workload.run import BrokerFactory, run_workload

SEEDS = range(1, 9)
SECONDS = 10


class ForgetfulDisk(NodeDisk):
    """Reports a sync of a log in the vault, and forgets it."""

    def sync(self, path: str, node: FileNode) -> None:
        if "/vault-" in path and path.endswith(".log"):
            self.enter("sync", path)
        else:
            super().sync(path, node)


class BufferedDisk(NodeDisk):
    """As if the broker acknowledged what is in its own memory only: a kill takes what was not synced."""

    def kill(self) -> None:
        super().kill()
        self._root.power_cut(None)


def with_disk(disk_class: type[NodeDisk]) -> BrokerFactory:
    def make(simulation: Simulation) -> SimulatedBroker:
        broker = SimulatedBroker(simulation)
        broker.node.use_disk(disk_class)
        return broker

    return make


def first_broken_promise(make_broker: BrokerFactory) -> str:
    for seed in SEEDS:
        try:
            run_workload(seed, duration_ms=1000 * SECONDS, make_broker=make_broker)
        except BrokenPromise as error:
            return str(error)
    return "none"


@pytest.mark.parametrize("disk_class", [ForgetfulDisk, BufferedDisk])
def test_a_disk_that_loses_acknowledged_records_is_found_out(disk_class: type[NodeDisk]) -> None:
    found = first_broken_promise(with_disk(disk_class))
    assert "ledger" in found or "vault" in found, found


def test_a_server_that_acknowledges_before_it_appends_is_found_out() -> None:
    command = [sys.executable, "-m", "barnabas.testing.simulation", "--seed", "1", "--seeds", "1", "--seconds", "5"]
    command += ["--broken", "acks-before-appending"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "seed 1 FAILED" in done.stdout
    assert "faults of seed 1:" in done.stdout


LEAK = """
import asyncio
from barnabas.testing.simulation import Simulation

async def call(name):
    await asyncio.sleep(0.001)

async def scenario():
    for name in {container}:
        await asyncio.gather(*(call(name) for _ in range(len(name))))

simulation = Simulation(1)
simulation.run(scenario())
print(simulation.trace.digest)
"""
NAMES = "('one', 'three', 'fifteen', 'no')"


@pytest.mark.parametrize(("container", "is_leak"), [(f"set({NAMES})", True), (f"dict.fromkeys({NAMES})", False)])
def test_an_order_that_comes_from_a_set_shows_as_another_digest(container: str, is_leak: bool) -> None:
    program = LEAK.format(container=container)
    digests = {digest_in_new_process(["-c", program], hash_seed=hash_seed) for hash_seed in (1, 2)}
    assert (len(digests) > 1) is is_leak
