"""A little of everything that a broker does, without faults; prints the digest of the trace.

Run as a program, with any PYTHONHASHSEED: transactions over several partitions, groups of both protocols, compaction,
retention, and deletion must take the same steps.
"""

import asyncio
import datetime
import sys
from typing import Any

from barnabas.testing.crash.operations import create_topic
from barnabas.testing.crash.promises import Promises
from barnabas.testing.crash.running_broker import Refused
from barnabas.testing.crash.workload import PROPERTIES, RESTART, new_promises, script
from barnabas.testing.simulation import Client, SimulatedBroker, Simulation
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

ATTEMPTS = 200
TOPICS = ("ledger", "vault", "register", "window", "shelf")


class Connected:
    """A `RunningBroker` for the operations of the crash tests."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, api_name: str, version: int, request: object) -> Any:
        return await self._client.call(api_name, version, request)

    async def pass_ms(self, duration_ms: int) -> None:
        await asyncio.sleep(duration_ms / 1000)

    def close(self) -> None:
        self._client.close()


async def until_accepted(call: Any) -> Any:
    for _ in range(ATTEMPTS):
        try:
            return await call()
        except Refused as error:
            refusal = error
            await asyncio.sleep(0.05)
    raise RuntimeError(f"refused again and again: {refusal}")


async def run_steps(broker: SimulatedBroker, simulation: Simulation) -> None:
    promises: Promises = new_promises()
    client_node = simulation.node("client")
    await broker.start()
    steps = script()
    while steps:
        part = steps[: steps.index(RESTART)] if RESTART in steps else steps
        steps = steps[len(part) + 1 :]

        async def run(part: list[Any] = part) -> None:
            connected = Connected(await Client.connect("broker"))
            for step in part:
                await until_accepted(lambda step=step: step(connected, promises))
            connected.close()

        await client_node.run(run)
        await broker.stop()
        await broker.start()


async def use_sets(broker: Connected) -> None:
    """What is kept in sets: the partitions of a transaction, the topics of a group."""
    promises = Promises()
    for name in TOPICS:
        await until_accepted(lambda name=name: create_topic(name, {})(broker, promises))

    async def transact() -> None:
        checked(await broker.call("find_coordinator", 3, FindCoordinatorRequest(key="wide", key_type=1)))
        timeout = datetime.timedelta(seconds=20)
        init = InitProducerIdRequest(transactional_id="wide", transaction_timeout=timeout)
        producer = checked(await broker.call("init_producer_id", 4, init))
        identity = {"transactional_id": "wide", "producer_id": producer.producer_id}
        added = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="wide",
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.producer_epoch,
            v3_and_below_topics=tuple(AddPartitionsToTxnTopic(name=name, partitions=(0,)) for name in TOPICS),
        )
        await broker.call("add_partitions_to_txn", 3, added)
        end = EndTxnRequest(**identity, producer_epoch=producer.producer_epoch, committed=True)
        checked(await broker.call("end_txn", 3, end))

    async def join(api_name: str, group: str, request: Any) -> None:
        checked(await broker.call("find_coordinator", 3, FindCoordinatorRequest(key=group)))
        for member in ("one", "two", "three"):
            checked(await broker.call(api_name, 1, request(member_id=member)))
        await asyncio.sleep(1)
        for member in ("one", "two", "three"):
            checked(await broker.call(api_name, 1, request(member_id=member, member_epoch=-1)))

    def consumer(**fields: Any) -> ConsumerGroupHeartbeatRequest:
        timeout = datetime.timedelta(seconds=60)
        given = {"subscribed_topic_names": TOPICS, "rebalance_timeout": timeout, "topic_partitions": ()}
        return ConsumerGroupHeartbeatRequest(group_id="modern", **{**given, **fields})

    def share(**fields: Any) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(group_id="shared", **{"subscribed_topic_names": TOPICS, **fields})

    await until_accepted(transact)
    await until_accepted(lambda: join("consumer_group_heartbeat", "modern", consumer))
    await until_accepted(lambda: join("share_group_heartbeat", "shared", share))


def checked(answer: Any) -> Any:
    if answer.error_code.value:
        raise Refused(f"{answer.error_code.name}: {getattr(answer, 'error_message', '')}")
    return answer


def main() -> None:
    simulation = Simulation(1, keep_trace=True)
    one = SimulatedBroker(simulation, "broker", properties=PROPERTIES)
    other = SimulatedBroker(simulation, "other")
    other_client = simulation.node("other-client")

    async def use_other() -> None:
        connected = Connected(await Client.connect("other"))
        await use_sets(connected)
        connected.close()

    async def scenario() -> None:
        await other.start()
        await asyncio.gather(run_steps(one, simulation), other_client.run(use_other))
        await other.stop()

    simulation.run(scenario())
    if len(sys.argv) > 1:
        print("\n".join(simulation.trace.lines))
    print(simulation.trace.digest)


if __name__ == "__main__":
    main()
