"""Sets and moves the pointer of a pipeline: set when flows first run, then moved by `switch`."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.pipeline.dead_letters.reading import committed_range
from barnabas.pipeline.driver.outputs import output_of
from barnabas.pipeline.project.model import Flow, Project, TableOutput, TopicOutput
from barnabas.spark import metadata_topic
from barnabas.spark.pointer import FormerTopic, Pointer, Target, find, merged, write

_TIMEOUT_MS: Final = 60_000


@dataclass(frozen=True)
class Move:
    flow: str
    old: Target | None
    new: Target


def target_of(flow: Flow, version: str) -> Target | None:
    """What readers of a flow see in this version; None: there is nothing to read, as with a console."""
    output = output_of(flow, version)
    if isinstance(output, TopicOutput):
        return Target(version, topic=output.topic)
    return Target(version, table=output.path) if isinstance(output, TableOutput) else None


def publish_first(cluster: Cluster, project: Project, version: str, flows: Iterable[Flow]) -> None:
    """Set the pointer of flows that have none to this version; called by every run."""
    targets = {flow.name: target_of(flow, version) for flow in flows}
    there = find(cluster, project.name)
    if there is not None and targets.keys() <= there.flows.keys():
        return
    with _exclusive_writer(cluster, project.name) as writer:
        there = find(cluster, project.name)
        known = {} if there is None else there.flows
        new = {name: target for name, target in targets.items() if target is not None and name not in known}
        if new:
            left = {} if there is None else there.left
            write(writer, Pointer(project.name, {**known, **new}, _now_ms(), left))
            writer.commit()


def move(cluster: Cluster, project: Project, version: str, flows: Iterable[Flow]) -> list[Move]:
    """Move the pointer of these flows to this version, in one step; returns what has changed."""
    with _exclusive_writer(cluster, project.name) as writer:
        there = find(cluster, project.name) or Pointer(project.name, {}, 0)
        now_ms = _now_ms()
        targets, left, moves = dict(there.flows), dict(there.left), list[Move]()
        for flow in flows:
            new, old = target_of(flow, version), there.flows.get(flow.name)
            if new is None or (old is not None and _is_same(old, new)):
                continue
            if new.topic is not None:
                new = Target(version, topic=new.topic, starts=_ends(cluster, new.topic))
            if old is not None and old.topic is not None:
                left = merged(left, flow.name, FormerTopic(old.topic, old.version, now_ms, _ends(cluster, old.topic)))
            targets[flow.name] = new
            moves.append(Move(flow.name, old, new))
        if moves:
            write(writer, Pointer(project.name, targets, now_ms, left))
            writer.commit()
    return moves


@contextmanager
def _exclusive_writer(cluster: Cluster, pipeline: str) -> Iterator[TransactionWriter]:
    """A writer with the pointer's transactional id: any other writer can no longer commit."""
    metadata_topic.create(cluster)
    transactions = Transactions(cluster)
    producer = transactions.take_over(f"barnabas.{pipeline}.pointer", timeout_ms=_TIMEOUT_MS)
    yield TransactionWriter(cluster, transactions, producer)


def _is_same(old: Target, new: Target) -> bool:
    return (old.version, old.topic, old.table) == (new.version, new.topic, new.table)


def _ends(cluster: Cluster, topic: str) -> dict[str, int]:
    return {str(partition): end for partition, end in sorted(committed_range(cluster, topic).ends.items())}


def _now_ms() -> int:
    return int(time.time() * 1000)
