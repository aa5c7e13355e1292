"""SIGKILL under an active share group: accepted records are not delivered again, and no other record is lost.

    BARNABAS_SEED=7 BARNABAS_KILL_ROUNDS=200 pytest -s tests/crash/test_share_kill.py

Members speak the protocol themselves, because a client's buffer would hide when a record was delivered. A record counts
as accepted once the acknowledgement is answered. A later fetch must not return the record again.
"""

import os
import random
import threading
import time
import uuid
from datetime import timedelta

import pytest
from share_member import ACCEPT, REJECT, RELEASE, ShareMember, configure_group, find_coordinator, produce, topic_id

from barnabas.testing import Broker
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode

pytestmark = pytest.mark.crash

ROUNDS = int(os.environ.get("BARNABAS_KILL_ROUNDS", "5"))
GROUP = "workers"
PARTITIONS = 2
MEMBERS = 3
# Locks that time out between the kills, and a state topic that is snapshotted and cut off all the time.
PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.snapshot.update.records.per.snapshot": "5",
    "share.coordinator.state.topic.prune.interval.ms": "50",
    "group.share.record.lock.duration.ms": "1000",
}

Place = tuple[int, int]
"""Partition and offset."""


class Ledger:
    """The answers that members got."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.done: set[Place] = set()
        """Accepted or rejected, and answered."""
        self.handed_out: set[Place] = set()
        self.failures: list[str] = []


class Worker:
    def __init__(self, broker: Broker, topic: uuid.UUID, ledger: Ledger, seed: int) -> None:
        self._broker = broker
        self._topic = topic
        self._ledger = ledger
        self._rng = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._broker.connect(timeout_s=5) as client:
                    self._work(client)
            except OSError:
                time.sleep(0.01)  # the broker was killed, and will restart

    def _work(self, client: Client) -> None:
        member = ShareMember(client, GROUP)
        find_coordinator(client, GROUP)
        member.heartbeat("work", epoch=0)
        while not self._stop.is_set():
            held = self._fetch(member, opens=member.session_epoch == 0)
            for partition, offsets in held.items():
                self._answer(member, partition, offsets)

    def _fetch(self, member: ShareMember, *, opens: bool) -> dict[int, list[int]]:
        with self._ledger.lock:
            before = frozenset(self._ledger.done)
        response = member.fetch(
            self._topic if opens else None,
            partitions=range(PARTITIONS),
            epoch=0 if opens else None,
            max_records=self._rng.randint(1, 20),
            max_wait=timedelta(milliseconds=100),
        )
        if response.error_code != ErrorCode.none:
            member.session_epoch = 0
        held: dict[int, list[int]] = {}
        for topic in response.responses:
            for partition in topic.partitions:
                for each in partition.acquired_records:
                    held.setdefault(partition.partition_index, []).extend(
                        range(each.first_offset, each.last_offset + 1)
                    )
        with self._ledger.lock:
            for partition_index, offsets in held.items():
                self._ledger.handed_out |= {(partition_index, offset) for offset in offsets}
                again = [offset for offset in offsets if (partition_index, offset) in before]
                if again:
                    self._ledger.failures.append(f"{again} of partition {partition_index} were done and came again")
        return held

    def _answer(self, member: ShareMember, partition: int, offsets: list[int]) -> None:
        kinds = {
            offset: self._rng.choice((*[ACCEPT] * 14, REJECT, REJECT, RELEASE, RELEASE, None)) for offset in offsets
        }
        batches = [(offset, offset, [kind]) for offset, kind in kinds.items() if kind is not None]
        if not batches:
            return
        response = member.acknowledge(self._topic, *batches, partition=partition)
        if response.error_code != ErrorCode.none:
            member.session_epoch = 0
            return
        if response.responses[0].partitions[0].error_code == ErrorCode.none:
            with self._ledger.lock:
                self._ledger.done |= {(partition, offset) for offset, kind in kinds.items() if kind in (ACCEPT, REJECT)}


def test_nothing_accepted_comes_again_and_nothing_else_is_lost() -> None:
    seed = int(os.environ.get("BARNABAS_SEED", str(random.randrange(10**6))))
    print(f"BARNABAS_SEED={seed}")
    rng = random.Random(seed)
    ledger = Ledger()
    with Broker(process=True, properties=PROPERTIES) as broker:
        broker.create_topic("work", partitions=PARTITIONS)
        with broker.connect() as client:
            configure_group(client, GROUP, {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": "10"})
            topic = topic_id(client, "work")
        written = dict.fromkeys(range(PARTITIONS), 0)
        workers = [Worker(broker, topic, ledger, rng.randrange(10**6)) for _ in range(MEMBERS)]
        for worker in workers:
            worker.start()
        for _ in range(ROUNDS):
            with broker.connect() as client:
                for partition in range(PARTITIONS):
                    sizes = [rng.randint(1, 30) for _ in range(rng.randint(1, 8))]
                    produce(client, "work", *sizes, partition=partition)
                    written[partition] += sum(sizes)
            time.sleep(rng.uniform(0.05, 0.6))  # a random pause, not a wait: the moment of the kill is the point
            broker.kill()
            broker.restart()
        deadline = time.monotonic() + 60
        places = {(partition, offset) for partition, count in written.items() for offset in range(count)}
        given_up: set[Place] = set()
        while not places <= ledger.done | given_up and not ledger.failures and time.monotonic() < deadline:
            time.sleep(0.05)
            if not _is_behind(broker, written):
                given_up = places - ledger.done  # done, but the answer was lost in a kill; or delivered too often
        for worker in workers:
            worker.finish()
    assert ledger.failures == []
    assert places <= ledger.done | given_up, f"{len(places - ledger.done)} records were never handed out again"
    assert places <= ledger.handed_out, f"{len(places - ledger.handed_out)} records were never handed out"
    # If a kill loses an answer, its records are done without the test's knowledge: some, not many.
    assert len(ledger.done) > 0.5 * len(places)


def _is_behind(broker: Broker, written: dict[int, int]) -> bool:
    from barnabas.wire.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsRequest,
        DescribeShareGroupOffsetsRequestGroup,
    )

    asked = DescribeShareGroupOffsetsRequestGroup(group_id=GROUP, topics=None)
    with broker.connect() as client:
        answer = client.call("describe_share_group_offsets", 1, DescribeShareGroupOffsetsRequest(groups=(asked,)))
    lags = [partition.lag for topic in answer.groups[0].topics for partition in topic.partitions]
    return len(lags) < len(written) or any(lag != 0 for lag in lags)
