"""The workload: a little of everything that a broker writes to disk, in segments of a few batches.

Topics: `ledger` is acknowledged when written, `vault` when synced. `register` is compacted, with tombstones. `window`
has a short retention, `shelf` gets DeleteRecords, each `brief` is created, used and deleted. Transactions write to
`account` and to `receipt`, which is compacted.
"""

from typing import Final

from barnabas.testing.crash import operations as ask
from barnabas.testing.crash.operations import Operation
from barnabas.testing.crash.promises import Promises, Sent

PROPERTIES: Final = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.flush.offset.checkpoint.interval.ms": "150",
    "log.retention.check.interval.ms": "200",
    "log.initial.task.delay.ms": "170",
    "log.segment.delete.delay.ms": "120",
    "log.cleaner.backoff.ms": "110",
    "log.cleaner.min.cleanable.ratio": "0.1",
    "log.retention.ms": "-1",
    "metadata.log.segment.ms": "400",
    "metadata.log.max.record.bytes.between.snapshots": "1500",
}

_SMALL: Final = {"internal.segment.bytes": "700", "index.interval.bytes": "100"}
_SYNCED: Final = {**_SMALL, "flush.messages": "1"}
_COMPACTED: Final = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1", "delete.retention.ms": "100"}
TOPICS: Final = {
    "ledger": _SMALL,
    "vault": _SYNCED,
    "register": {**_SYNCED, **_COMPACTED},
    "window": {**_SMALL, "retention.bytes": "1500"},
    "shelf": _SMALL,
}

IN_TRANSACTIONS: Final = {"account": _SMALL, "receipt": {**_SMALL, **_COMPACTED}}

ROUNDS: Final = 5
RESTART: Final = "restart"
"""A clean restart."""

Step = Operation | str


def new_promises() -> Promises:
    return Promises(
        records={
            name: Sent(
                synced="flush.messages" in config, compacted=name == "register", trimmed=name in ("window", "shelf")
            )
            for name, config in TOPICS.items()
        }
    )


def script() -> list[Step]:
    steps: list[Step] = [ask.init_producer]
    steps += [ask.create_topic(name, config) for name, config in (TOPICS | IN_TRANSACTIONS).items()]
    for number in range(ROUNDS):
        steps += _round(number)
        if number in (1, 3):
            steps.append(RESTART)
    return steps


def _round(number: int) -> list[Step]:
    brief = f"brief{number}"
    steps: list[Step] = [ask.create_topic(brief, _SMALL)]
    for turn in range(3):
        steps += [ask.produce(topic, _batch(topic, number, turn)) for topic in TOPICS]
    steps += [
        ask.produce(brief, _batch(brief, number, 0)),
        ask.commit("readers", "ledger", number + 1),
        ask.alter_config("ledger", "index.interval.bytes", str(100 + number)),
    ]
    steps += [ask.transact(commit=commit) for commit in (True, False, True)]
    if number == 0:
        for topic in ("__consumer_offsets", "__transaction_state"):
            steps.append(ask.alter_config_of_internal(topic, "internal.segment.bytes", "400"))
        steps.append(ask.join("members"))
    if number == 2:
        steps.append(ask.delete_records("shelf", 7))
    return [*steps, ask.wait(240), ask.delete_topic(brief), ask.commit("readers", "ledger", number + 10), ask.wait(240)]


def _batch(topic: str, number: int, turn: int) -> list[tuple[bytes | None, bytes | None]]:
    """Values are unique in the whole workload; in `register` every fourth record is a tombstone."""
    if topic != "register":
        return [(None, f"{topic} {number}.{turn}.{place}".encode() + bytes(20)) for place in range(4)]
    return [
        (
            f"key{(number + place) % 5}".encode(),
            None if (turn + place) % 4 == 3 else f"{number}.{turn}.{place}".encode(),
        )
        for place in range(4)
    ]
