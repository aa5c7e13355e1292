"""Plants one anomaly in a valid history, and names what the checker must report.

Each function takes the run and returns whether it could plant its anomaly; it changes `run.events`.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from sound_history import GROUP, SoundRun

from barnabas.testing.checker.anomalies import Kind
from barnabas.testing.checker.events import (
    Ack,
    Client,
    Commit,
    Committed,
    Committing,
    End,
    Final,
    Offsets,
    Poll,
    Send,
)

Plant = Callable[[SoundRun], bool]
PLANTS: dict[str, tuple[Kind, Plant]] = {}


def plants(kind: Kind) -> Callable[[Plant], Plant]:
    def register(plant: Plant) -> Plant:
        PLANTS[plant.__name__] = (kind, plant)
        return plant

    return register


def pick(run: SoundRun, candidates: list[Any]) -> Any:
    return run.rng.choice(candidates) if candidates else None


def acked(run: SoundRun) -> list[tuple[str, str, int]]:
    """(partition, value, offset) of records that were acknowledged outside of transactions."""
    in_txn = {value for event in run.events if isinstance(event, Send) and event.txn for value in event.values}
    return [
        (event.partition, value, offset)
        for event in run.events
        if isinstance(event, Ack)
        for value, offset in event.acks
        if value not in in_txn
    ]


def unread(run: SoundRun, value: str, reader: Callable[[str], bool] = lambda name: True) -> None:
    """Take a value out of the polls of these readers."""
    for event in run.events:
        if isinstance(event, Poll) and reader(event.p):
            for partition, records in event.records.items():
                event.records[partition] = [each for each in records if each[1] != value]


def polls_of(run: SoundRun, prefix: str) -> Iterator[tuple[Poll, str]]:
    for event in run.events:
        if isinstance(event, Poll) and event.p.startswith(prefix):
            for partition in event.records:
                yield event, partition


def committed_transactions(run: SoundRun) -> dict[str, list[str]]:
    """txn: its values, for transactions whose commit was acknowledged"""
    committed = {event.txn for event in run.events if isinstance(event, End) and event.outcome == "commit"}
    values: dict[str, list[str]] = {txn: [] for txn in committed}
    for event in run.events:
        if isinstance(event, Send) and event.txn in committed:
            values[event.txn] += event.values
    return {txn: own for txn, own in values.items() if own}


@plants(Kind.LOST_WRITE)
def nobody_ever_got_it(run: SoundRun) -> bool:
    chosen = pick(run, acked(run))
    if chosen is None:
        return False
    unread(run, chosen[1])
    return True


@plants(Kind.LOST_WRITE)
def it_was_there_once(run: SoundRun) -> bool:
    chosen = pick(run, acked(run))
    if chosen is None:
        return False
    unread(run, chosen[1], lambda name: name.startswith("final"))
    return True


@plants(Kind.LOST_WRITE)
def a_commit_lost_it(run: SoundRun) -> bool:
    chosen = pick(run, list(committed_transactions(run).values()))
    if chosen is None:
        return False
    for value in chosen:
        unread(run, value)
    return True


@plants(Kind.UNSEEN_WRITE)
def nobody_came_that_far(run: SoundRun) -> bool:
    run.events = [event for event in run.events if not isinstance(event, Final)]
    partition = run.rng.choice(list(run.broker.records))
    offset = len(run.broker.records[partition]) + 5
    run.events.append(Send(t=run.tick(), p="late", partition=partition, values=["late"]))
    run.events.append(Ack(t=run.tick(), p="late", partition=partition, acks=[("late", offset)]))
    return True


@plants(Kind.DUPLICATE)
def it_is_there_again(run: SoundRun) -> bool:
    chosen = pick(run, acked(run))
    if chosen is None:
        return False
    partition, value, _ = chosen
    offset = len(run.broker.records[partition])
    run.events.append(Poll(t=run.tick(), p="final-read_committed", records={partition: [(offset, value)]}))
    return True


@plants(Kind.INCONSISTENT_OFFSET)
def acknowledged_elsewhere(run: SoundRun) -> bool:
    chosen = pick(run, [event for event in run.events if isinstance(event, Ack)])
    if chosen is None:
        return False
    value, _ = chosen.acks[0]
    chosen.acks[0] = (value, len(run.broker.records[chosen.partition]) + 7)
    return any(value == each for event in run.events if isinstance(event, Poll) for each in values_of(event))


def values_of(poll: Poll) -> list[str]:
    return [value for records in poll.records.values() for _, value in records]


@plants(Kind.INCONSISTENT_OFFSET)
def two_readers_two_values(run: SoundRun) -> bool:
    readers = Counter(
        (partition, offset) for poll, partition in polls_of(run, "") for offset, _ in poll.records[partition]
    )
    shared = [
        (poll, partition)
        for poll, partition in polls_of(run, "final")
        if poll.records[partition] and readers[partition, poll.records[partition][0][0]] > 1
    ]
    chosen = pick(run, shared)
    if chosen is None:
        return False
    poll, partition = chosen
    offset, _ = poll.records[partition][0]
    poll.records[partition][0] = (offset, "another")
    return True


@plants(Kind.PHANTOM)
def nobody_sent_it(run: SoundRun) -> bool:
    partition = run.rng.choice(list(run.broker.records))
    offset = len(run.broker.records[partition])
    run.events.append(Poll(t=run.tick(), p="final-read_committed", records={partition: [(offset, "ghost")]}))
    return True


@plants(Kind.ABORTED_READ)
def an_aborted_value_is_served(run: SoundRun) -> bool:
    aborted = [
        (partition, offset, value)
        for partition, records in run.broker.records.items()
        for offset, (value, txn) in enumerate(records)
        if txn and run.broker.state[txn] == "abort" and not was_asked_to_commit(run, txn)
    ]
    chosen = pick(run, aborted)
    if chosen is None:
        return False
    partition, offset, value = chosen
    add_to_poll(run, "rc", partition, offset, value)
    return True


def was_asked_to_commit(run: SoundRun, txn: str) -> bool:
    return any(isinstance(event, Committing) and event.txn == txn for event in run.events)


def add_to_poll(run: SoundRun, name: str, partition: str, offset: int, value: str) -> None:
    run.events.append(Poll(t=run.tick(), p=f"{name}-curious", records={partition: [(offset, value)]}))


@plants(Kind.UNCOMMITTED_READ)
def served_before_the_commit(run: SoundRun) -> bool:
    committed = committed_transactions(run)
    chosen = pick(run, sorted(committed))
    if chosen is None:
        return False
    value = committed[chosen][0]
    (committing,) = (event for event in run.events if isinstance(event, Committing) and event.txn == chosen)
    for partition, records in run.broker.records.items():
        for offset, (each, _) in enumerate(records):
            if each == value:
                early = Poll(t=committing.t - 0.0001, p="early", records={partition: [(offset, value)]})
                run.events.append(early)
    return True


@plants(Kind.TORN_TRANSACTION)
def a_part_of_it_is_missing(run: SoundRun) -> bool:
    chosen = pick(run, [values for values in committed_transactions(run).values() if len(values) > 1])
    if chosen is None:
        return False
    unread(run, run.rng.choice(chosen), lambda name: name != "ru" and name != "final-read_uncommitted")
    return True


@plants(Kind.STUCK_LAST_STABLE_OFFSET)
def the_reader_does_not_reach_the_end(run: SoundRun) -> bool:
    finals = [event for event in run.events if isinstance(event, Final) and event.isolation == "read_committed"]
    chosen = pick(run, [final for final in finals if final.end])
    if chosen is None:
        return False
    chosen.position = run.rng.randrange(chosen.end)
    for event in run.events:
        if isinstance(event, Poll) and event.p == chosen.p and chosen.partition in event.records:
            kept = [each for each in event.records[chosen.partition] if each[0] < chosen.position]
            event.records[chosen.partition] = kept
    return True


def drop_from_poll(run: SoundRun, *, first: bool) -> bool:
    """Take a record out of a reader's poll, at its beginning or within it; others get it."""
    least = 2 if first else 3
    candidates = [
        (poll, partition)
        for poll, partition in polls_of(run, "final")
        if len(poll.records[partition]) >= least and (not first or poll.records[partition][0][0] > 0)
    ]
    chosen = pick(run, candidates)
    if chosen is None:
        return False
    poll, partition = chosen
    records = poll.records[partition]
    offset, value = records.pop(0 if first else run.rng.randrange(1, len(records) - 1))
    # Another reader must have seen it, so that nothing else is wrong.
    run.events.append(Client(t=run.tick(), p="witness", isolation="read_committed"))
    committed = value in {
        each for event in run.events if isinstance(event, Poll) and event.p == "m0" for each in values_of(event)
    }
    if committed:
        run.events.append(Poll(t=run.tick(), p="witness", records={partition: [(offset, value)]}))
    return committed


@plants(Kind.SKIPPED_POLL)
def led_past_a_record_between_polls(run: SoundRun) -> bool:
    return drop_from_poll(run, first=True)


@plants(Kind.INTERNAL_SKIPPED_POLL)
def led_past_a_record_within_a_poll(run: SoundRun) -> bool:
    return drop_from_poll(run, first=False)


@plants(Kind.NON_MONOTONIC_POLL)
def led_back_between_polls(run: SoundRun) -> bool:
    last: dict[str, tuple[int, str]] = {}
    for poll, partition in polls_of(run, "m0"):
        records = poll.records[partition]
        if partition in last:
            records.insert(0, last[partition])
            return True
        last[partition] = records[-1]
    return False


@plants(Kind.INTERNAL_NON_MONOTONIC_POLL)
def led_back_within_a_poll(run: SoundRun) -> bool:
    chosen = pick(run, [(poll, each) for poll, each in polls_of(run, "r") if len(poll.records[each]) > 1])
    if chosen is None:
        return False
    poll, partition = chosen
    records = poll.records[partition]
    records[0], records[1] = records[1], records[0]
    return True


@plants(Kind.NON_MONOTONIC_SEND)
def the_later_stands_before_the_earlier(run: SoundRun) -> bool:
    return swap_sent(run, in_txn=False)


@plants(Kind.INTERNAL_NON_MONOTONIC_SEND)
def in_one_transaction_too(run: SoundRun) -> bool:
    return swap_sent(run, in_txn=True)


def swap_sent(run: SoundRun, *, in_txn: bool) -> bool:
    stored = {value for records in run.broker.records.values() for value, _ in records}
    sends = [
        event
        for event in run.events
        if isinstance(event, Send) and len(event.values) > 1 and bool(event.txn) == in_txn and event.values[0] in stored
    ]
    chosen = pick(run, sends)
    if chosen is None:
        return False
    chosen.values.reverse()
    return True


@plants(Kind.COMMIT_REGRESSION)
def the_group_is_told_an_older_offset(run: SoundRun) -> bool:
    answers = [event for event in run.events if isinstance(event, Offsets) and max(event.offsets.values()) > 0]
    if not answers:
        return False
    partition, offset = max(answers[-1].offsets.items(), key=lambda item: item[1])
    asked = run.tick()
    run.events.append(
        Offsets(t=run.tick(), p="auditor", group=GROUP, asked=asked, offsets={partition: run.rng.randrange(offset)})
    )
    return True


@plants(Kind.COMMIT_REGRESSION)
def a_member_commits_an_older_offset(run: SoundRun) -> bool:
    if not run.broker.committed or not max(run.broker.committed.values()):
        return False
    partition, offset = max(run.broker.committed.items(), key=lambda item: item[1])
    run.events.append(Commit(t=run.tick(), p="m1", group=GROUP, offsets={partition: offset - 1}, number=1))
    run.events.append(Committed(t=run.tick(), p="m1", number=1))
    return True


@plants(Kind.UNPROCESSED)
def no_member_got_it(run: SoundRun) -> bool:
    chosen = pick(run, [(poll, partition) for poll, partition in polls_of(run, "m0") if poll.records[partition]])
    if chosen is None or not run.broker.committed:
        return False
    poll, partition = chosen
    poll.records[partition].pop()
    return True
