"""Today's broker, server included, on the simulation: its clients, its crashes, and the workload over it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from barnabas.testing.simulation import Client, FaultPlan, NodeStopped, SimulatedBroker, Simulation, SimulationError
from barnabas.testing.simulation.faults import KINDS
from barnabas.testing.simulation.replay import digest_in_new_process
from barnabas.testing.simulation.workload.history import BrokenPromise, History
from barnabas.testing.simulation.workload.run import run_workload
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.metadata import MetadataRequest

SECONDS = 6


def test_a_broker_serves_survives_and_stops() -> None:
    simulation = Simulation(1)
    broker = SimulatedBroker(simulation)
    client = simulation.node("client")

    async def create_topic() -> None:
        connection = await Client.connect("broker")
        topic = CreatableTopic(name="orders", num_partitions=3, replication_factor=1)
        (result,) = (await connection.call("create_topics", 7, CreateTopicsRequest(topics=(topic,)))).topics
        assert result.error_code == ErrorCode.none
        connection.close()

    async def list_topics() -> list[str]:
        connection = await Client.connect("broker")
        answer = await connection.call("metadata", 12, MetadataRequest(topics=None))
        assert [(node.host, node.port) for node in answer.brokers] == [("broker", 9092)]
        connection.close()
        return [topic.name for topic in answer.topics]

    async def scenario() -> None:
        await broker.start()
        await client.run(create_topic)
        for end in (broker.node.kill, broker.node.power_cut):
            end()
            await broker.start()
            assert await client.run(list_topics) == ["orders"]
        await broker.stop()
        with pytest.raises(ConnectionRefusedError):
            await client.run(list_topics)
        await broker.start()
        assert await client.run(list_topics) == ["orders"]
        broker.node.kill()
        broker.node.lose_disk()
        await broker.start()
        assert await client.run(list_topics) == []

    simulation.run(scenario())
    assert simulation.now_ms < 5_000


def test_a_broker_that_dies_while_it_starts_is_reported() -> None:
    simulation = Simulation(1)
    broker = SimulatedBroker(simulation)

    async def scenario() -> None:
        broker.node.power_cut_at_change(5)
        with pytest.raises(NodeStopped, match="broker ended before it was ready"):
            await broker.start()
        await broker.start()

    simulation.run(scenario())


@pytest.mark.parametrize("seed", [1, 9])
def test_the_workload_keeps_its_promises(seed: int) -> None:
    outcome, simulation = run_workload(seed, duration_ms=1000 * SECONDS)
    assert outcome.counters["acknowledged records"] > 50
    assert outcome.counters["read records"] > 100
    assert outcome.counters["commits"] > 5
    assert outcome.counters["assignments"] > 0
    assert outcome.counters["faults"] > 0
    assert simulation.seed == seed


def test_a_seed_replays_in_processes_with_other_hash_seeds() -> None:
    outcome, _ = run_workload(9, duration_ms=1000 * SECONDS)
    command = ["-m", "barnabas.testing.simulation", "--seed", "9", "--seconds", str(SECONDS), "--digest"]
    for hash_seed in (1, 2):
        assert digest_in_new_process(command, hash_seed=hash_seed) == outcome.digest


def test_plans_come_from_the_seed_and_know_every_fault() -> None:
    nodes = ["a", "b", "c"]
    plan = FaultPlan.draw(7, nodes=nodes, peers=["client"], duration_ms=3_600_000)
    assert plan == FaultPlan.draw(7, nodes=nodes, peers=["client"], duration_ms=3_600_000)
    assert plan != FaultPlan.draw(8, nodes=nodes, peers=["client"], duration_ms=3_600_000)
    assert {fault.kind for fault in plan.faults} == set(KINDS)
    assert {fault.node for fault in plan.faults} == set(nodes)
    assert str(plan).startswith("faults of seed 7:")


def test_every_fault_begins_and_is_repaired() -> None:
    simulation = Simulation(1)

    async def idle(node: object) -> None:
        await asyncio.sleep(10**9)

    nodes = [simulation.node(name, idle) for name in ("a", "b", "c")]
    plan = FaultPlan.draw(1, nodes=[node.name for node in nodes], duration_ms=600_000)

    async def scenario() -> None:
        for node in nodes:
            node.start()
        await plan.inject(simulation)

    simulation.run(scenario())
    assert simulation.counters["faults"] == len(plan.faults)
    for name in ("kills", "pauses", "cuts", "slow disks", "full disks", "clock jumps", "lost disks", "restarts"):
        assert simulation.counters[name] > 0, name
    for node in nodes:
        assert node.clock.skew_ms == 0
        assert node.disk.capacity_bytes is None
        assert node.disk_speed.slowness == 1


PLACE = ("topic", 0)


def read(history: History, offsets: Sequence[int], *, high_watermark: int = 10) -> None:
    records = [(offset, f"value {offset}".encode()) for offset in offsets]
    history.read("reader", PLACE, offsets[0], records, high_watermark, sent_after_cuts=0)


def test_each_broken_promise_is_found() -> None:
    def history() -> History:
        new = History({PLACE: True})
        new.acknowledged(PLACE, 0, [b"value 0", b"value 1"], sent_after_cuts=0)
        read(new, [0, 1, 2])
        return new

    with pytest.raises(BrokenPromise, match="got the offsets"):
        read(history(), [3, 5])
    with pytest.raises(BrokenPromise, match="high watermark is 3"):
        read(history(), [2, 3], high_watermark=3)
    with pytest.raises(BrokenPromise, match="went back from 10 to 9"):
        read(history(), [3], high_watermark=9)
    with pytest.raises(BrokenPromise, match="offset 1 of"):
        history().acknowledged(PLACE, 1, [b"other"], sent_after_cuts=0)
    with pytest.raises(BrokenPromise, match="it is at 0 already"):
        history().acknowledged(PLACE, 3, [b"value 0"], sent_after_cuts=0)
    with pytest.raises(BrokenPromise, match="at the end it is nothing"):
        history().check_complete(PLACE, {0: b"value 0", 1: b"value 1"})
    with pytest.raises(BrokenPromise, match="no offset 3"):
        history().out_of_range("reader", PLACE, 3, sent_after_cuts=0)
    committed = history()
    committed.committed("group", PLACE, 7, sent_after_cuts=0)
    with pytest.raises(BrokenPromise, match="went back from 7 to 6"):
        committed.fetched_commit("group", PLACE, 6, sent_after_cuts=0)
    committed.assigned("group", 1, "a", [PLACE], sent_after_cuts=0)
    with pytest.raises(BrokenPromise, match="a and b both own"):
        committed.assigned("group", 1, "b", [PLACE], sent_after_cuts=0)
    assert issubclass(BrokenPromise, SimulationError)


def test_transactions_and_groups_of_every_kind_take_the_same_steps() -> None:
    """Their partitions and topics are kept in sets, whose order must not show."""
    program = str(Path(__file__).with_name("everything_once.py"))
    digests = {digest_in_new_process([program], hash_seed=hash_seed) for hash_seed in (1, 2)}
    assert len(digests) == 1
