"""Checks that committed offsets never go back, and that a group got every record that it committed past.

Two commits that overlap in time may take effect in either order. So a commit is compared only with those that were
answered before it was sent.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.testing.checker.anomalies import Anomaly, Kind
from barnabas.testing.checker.events import Commit, Committed, Offsets, Poll
from barnabas.testing.checker.facts import Facts
from barnabas.testing.checker.polls import Order


class Stand(NamedTuple):
    """A committed offset of a group, in effect at some time between these two."""

    asked_t: float
    answered_t: float
    offset: int
    process: str
    is_read: bool


def commit_regressions(facts: Facts) -> Iterator[Anomaly]:
    for (group, partition), stands in _stands(facts).items():
        answered = sorted(stands, key=lambda stand: stand.answered_t)
        highest: Stand | None = None
        next_answered = 0
        for stand in sorted(stands, key=lambda stand: stand.asked_t):
            while answered[next_answered].answered_t <= stand.asked_t and answered[next_answered] is not stand:
                if highest is None or answered[next_answered].offset > highest.offset:
                    highest = answered[next_answered]
                next_answered += 1
            if highest is not None and stand.offset < highest.offset:
                yield _regression(group, partition, highest, stand)


def _stands(facts: Facts) -> dict[tuple[str, str], list[Stand]]:
    stands: dict[tuple[str, str], list[Stand]] = defaultdict(list)
    asked: dict[tuple[str, int], Commit] = {}

    def add(commit: Commit, answered_t: float) -> None:
        for partition, offset in commit.offsets.items():
            stands[commit.group, partition].append(Stand(commit.t, answered_t, offset, commit.p, False))

    for event in facts.events:
        match event:
            case Commit():
                if not event.txn:
                    asked[event.p, event.number] = event
                elif (transaction := facts.transactions[event.txn]).reported_outcome == "commit":
                    assert transaction.end_t is not None
                    add(event, transaction.end_t)
            case Committed():
                commit = asked.pop((event.p, event.number), None)
                if commit is not None and not event.error:
                    add(commit, event.t)
            case Offsets():
                for partition, offset in event.offsets.items():
                    stands[event.group, partition].append(Stand(event.asked, event.t, offset, event.p, True))
    return stands


def _regression(group: str, partition: str, before: Stand, after: Stand) -> Anomaly:
    said = "was told" if after.is_read else "committed"
    what = f"{group} was at offset {before.offset}, and later {after.process} {said} {after.offset}"
    evidence = {
        "group": group,
        "offsets": [before.offset, after.offset],
        "processes": [before.process, after.process],
        "asked_t": [before.asked_t, after.asked_t],
        "answered_t": [before.answered_t, after.answered_t],
    }
    return Anomaly(Kind.COMMIT_REGRESSION, partition, what, evidence)


def unprocessed_records(facts: Facts) -> Iterator[Anomaly]:
    """For groups that commit after processing: every record must have been polled by one of their members."""
    for group in facts.header.at_least_once_groups:
        members = {process for process, client in facts.clients.items() if client.group == group}
        polled: dict[str, set[int]] = defaultdict(set)
        last: dict[str, int] = {}
        for event in facts.events:
            if isinstance(event, Poll) and event.p in members:
                for partition, records in event.records.items():
                    polled[partition].update(offset for offset, _ in records)
            elif isinstance(event, Offsets) and event.group == group:
                last.update(event.offsets)
        for partition, committed in last.items():
            log = facts.log(partition)
            for offset in Order(facts, log, "read_committed").offsets:
                if offset not in polled[partition]:
                    value = log.by_offset[offset].value
                    what = f"no member of {group} got {value} at offset {offset}; the group is at {committed}"
                    evidence = {"group": group, "value": value, "offset": offset, "committed": committed}
                    yield Anomaly(Kind.UNPROCESSED, partition, what, evidence)
