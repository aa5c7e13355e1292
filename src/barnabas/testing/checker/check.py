"""Runs all analyses over a history."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from barnabas.testing.checker import bank, commits, moves, polls, sends, transactions, writes
from barnabas.testing.checker.anomalies import Anomaly
from barnabas.testing.checker.events import Ack, AnyEvent, Commit, Fault, Header, Poll
from barnabas.testing.checker.facts import Facts

ANALYSES: tuple[Callable[[Facts], Iterator[Anomaly]], ...] = (
    writes.lost_and_unseen_writes,
    writes.duplicates,
    writes.inconsistent_offsets,
    writes.phantoms,
    transactions.aborted_reads,
    transactions.uncommitted_reads,
    transactions.torn_transactions,
    transactions.stuck_last_stable_offsets,
    polls.poll_order,
    sends.send_order,
    commits.commit_regressions,
    commits.unprocessed_records,
    moves.exactly_once_moves,
    bank.wrong_totals,
)


@dataclass
class Result:
    header: Header
    anomalies: list[Anomaly]
    counts: dict[str, int] = field(default_factory=dict)
    """What the history contains: a run in which nothing was sent is clean, but proves nothing."""

    @property
    def is_clean(self) -> bool:
        return not self.anomalies


def check(header: Header, events: Iterable[AnyEvent]) -> Result:
    facts = Facts(header, sorted(events, key=lambda event: event.t))
    anomalies = [anomaly for analysis in ANALYSES for anomaly in analysis(facts)]
    return Result(header, anomalies, _counts(facts))


def _counts(facts: Facts) -> dict[str, int]:
    events: Sequence[AnyEvent] = facts.events
    outcomes = [transaction.outcome for transaction in facts.transactions.values()]
    places = [offsets for by_partition in facts.offsets_read.values() for offsets in by_partition.values()]
    faults = [event for event in events if isinstance(event, Fault)]
    counts = {
        "values sent": len(facts.written),
        "acknowledged": sum(len(event.acks) for event in events if isinstance(event, Ack)),
        "never answered": sum(written.acked_offset is None for written in facts.written.values()),
        "records polled": sum(sum(map(len, event.records.values())) for event in events if isinstance(event, Poll)),
        "records there": len(places),
        "there more than once": sum(len(offsets) > 1 for offsets in places),
        "commits of offsets": sum(isinstance(event, Commit) for event in events),
        "transactions committed": outcomes.count("commit"),
        "transactions aborted": outcomes.count("abort"),
        "transactions of unknown outcome": outcomes.count("unknown"),
        "processes": len({event.p for event in events}),
    }
    for fault in faults:
        whom = "broker" if fault.target == "broker" else "clients"
        if fault.action in ("kill", "pause"):
            name = f"{fault.action}s of the broker" if whom == "broker" else f"{fault.action}s of clients"
            counts[name] = counts.get(name, 0) + 1
    counts["seconds"] = round(events[-1].t - events[0].t) if events else 0
    return {name: count for name, count in counts.items() if count}
