"""The workloads: their topics, clients and expectations."""

from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from barnabas.testing.checker.bank_accounts import TOTAL
from barnabas.testing.checker.events import Header

RATE_PER_PRODUCER: Final = 250
FOLLOWERS: Final = "followers"
MOVERS: Final = "movers"
STRATEGIES: Final = ("range", "roundrobin", "cooperative-sticky")
REMOTE_ASSIGNORS: Final = ("uniform", "range")


@dataclass(frozen=True)
class Actor:
    """A slot that is filled by one client process after another."""

    place: str
    role: str
    topics: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    is_source: bool = False
    """It produces what others must read to the end, so it is stopped first."""
    transactional_id: str = ""


@dataclass(frozen=True)
class Workload:
    name: str
    about: str
    partitions: dict[str, int]
    """topic: number of partitions"""
    actors: tuple[Actor, ...]
    header: Header
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """group: topics that it must read to the end"""
    synced: tuple[str, ...] = ()
    """Topics with flush.messages=1: answers wait for the disk, so more kills happen between a write and its answer."""


ABOUT: Final = {
    "plain": "acks=all without idempotence: nothing lost, duplicates allowed",
    "idempotent": "nothing lost, no duplicates, in order",
    "churn": "group members join, leave, are killed and paused; every record processed, commits never go back",
    "consumer-churn": "the same with group.protocol=consumer, where the broker assigns",
    "transactional": "transactions over several partitions, and read-process-write, exactly once",
    "bank": "transfers between accounts in different partitions; the sum stays the same",
}


def make_workload(name: str, seed: int, prefix: str, *, own_broker: bool = True) -> Workload:
    """`prefix`: for topics, groups and transactional ids, because a cluster may have others."""
    rng = Random(seed)
    if name in ("transactional", "bank"):
        return (_bank if name == "bank" else _transactional)(name, seed, prefix, own_broker=own_broker)
    return (_churn if name.endswith("churn") else _appending)(name, seed, prefix, rng)


def _appending(name: str, seed: int, prefix: str, rng: Random) -> Workload:
    topics = (f"{prefix}-log", f"{prefix}-synced")
    is_idempotent = name == "idempotent"
    group = f"{prefix}-{FOLLOWERS}"
    actors = (
        *_producers(topics, 2, idempotent=is_idempotent),
        *_readers(topics),
        *_members(group, topics, 2, rng, leave=False),
    )
    header = Header(workload=name, seed=seed, duplicates_allowed=not is_idempotent, at_least_once_groups=[group])
    return Workload(name, ABOUT[name], dict.fromkeys(topics, 2), actors, header, {group: topics}, topics[1:])


def _churn(name: str, seed: int, prefix: str, rng: Random) -> Workload:
    topic, group = f"{prefix}-log", f"{prefix}-{FOLLOWERS}"
    protocol = "consumer" if name == "consumer-churn" else "classic"
    members = _members(group, (topic,), 4, rng, leave=True, protocol=protocol)
    actors = (*_producers((topic,), 2, idempotent=True), *members)
    header = Header(workload=name, seed=seed, at_least_once_groups=[group])
    return Workload(name, ABOUT[name], {topic: 6}, actors, header, {group: (topic,)})


def _transactional(name: str, seed: int, prefix: str, *, own_broker: bool) -> Workload:
    log, source, target = f"{prefix}-log", f"{prefix}-in", f"{prefix}-out"
    group = f"{prefix}-{MOVERS}"
    transactors = _with_transactions("transactor", (log,), prefix, rdkafka=2, bare=2 if own_broker else 0)
    movers = tuple(
        Actor(
            f"mover{number}",
            "mover",
            (source, target),
            {"transactional_id": f"{prefix}-mover{number}", "group": group, "source": source, "target": target},
            transactional_id=f"{prefix}-mover{number}",
        )
        for number in range(2)
    )
    actors = (*transactors, *_producers((source,), 1, idempotent=True), *movers, *_readers((log, target)))
    header = Header(workload=name, seed=seed, moves={source: target})
    return Workload(name, ABOUT[name], {log: 3, source: 2, target: 2}, actors, header, {group: (source,)}, (target,))


def _bank(name: str, seed: int, prefix: str, *, own_broker: bool) -> Workload:
    topic = f"{prefix}-accounts"
    tellers = _with_transactions("teller", (topic,), prefix, rdkafka=2, bare=2 if own_broker else 0)
    header = Header(workload=name, seed=seed, bank_total=TOTAL)
    return Workload(name, ABOUT[name], {topic: 4}, (*tellers, *_readers((topic,))), header)


def _with_transactions(
    role: str, topics: tuple[str, ...], prefix: str, *, rdkafka: int, bare: int
) -> tuple[Actor, ...]:
    """`bare`: how many of them are our own producers, which work with a single broker only."""
    return tuple(
        Actor(
            f"{role}{number}",
            role,
            topics,
            {"transactional_id": f"{prefix}-{role}{number}", "bare": number >= rdkafka},
            is_source=True,
            transactional_id=f"{prefix}-{role}{number}",
        )
        for number in range(rdkafka + bare)
    )


def _producers(topics: tuple[str, ...], count: int, *, idempotent: bool) -> tuple[Actor, ...]:
    settings = {"idempotent": idempotent, "per_second": RATE_PER_PRODUCER}
    return tuple(Actor(f"producer{number}", "producer", topics, settings, is_source=True) for number in range(count))


def _readers(topics: tuple[str, ...]) -> tuple[Actor, ...]:
    return (
        Actor("committed-reader", "reader", topics, {"isolation": "read_committed"}),
        Actor("uncommitted-reader", "reader", topics, {"isolation": "read_uncommitted"}),
    )


def _members(
    group: str, topics: tuple[str, ...], count: int, rng: Random, *, leave: bool, protocol: str = "classic"
) -> tuple[Actor, ...]:
    assignor = rng.choice(STRATEGIES if protocol == "classic" else REMOTE_ASSIGNORS)
    settings = {"group": group, "protocol": protocol, "assignor": assignor, "leaves": leave}
    members = tuple(Actor(f"member{number}", "member", topics, settings) for number in range(count))
    return (*members, Actor("auditor", "auditor", topics, {"group": group}))
