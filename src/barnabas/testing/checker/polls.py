"""Checks that every reader gets the records of a partition in order and without gaps.

The records that a reader must get are those that all readers of its isolation level got together. Offsets alone are not
enough: markers, and for read_committed aborted records, have offsets but are not delivered.
"""

from bisect import bisect_left
from collections.abc import Iterator

from barnabas.testing.checker.anomalies import Anomaly, Kind
from barnabas.testing.checker.events import OFFSET_UNKNOWN, Assign, Isolation, Poll, Seek
from barnabas.testing.checker.facts import Facts, Log

_SHOWN_MAX = 10


class Order:
    """The offsets of one partition that readers of one isolation level get."""

    def __init__(self, facts: Facts, log: Log, isolation: Isolation) -> None:
        read = log.read["read_committed"]
        if isolation == "read_uncommitted":
            read = {**read, **log.read["read_uncommitted"]}
        else:
            aborted = {
                offset
                for offset, seen in read.items()
                if (written := facts.written.get(seen.value)) and facts.fate(written) == "absent"
            }
            read = {offset: seen for offset, seen in read.items() if offset not in aborted}
        self.offsets = sorted(read)
        self.rank = {offset: rank for rank, offset in enumerate(self.offsets)}

    def rank_of(self, offset: int) -> int:
        """The rank of the first record at or after this offset."""
        rank = self.rank.get(offset)
        return bisect_left(self.offsets, offset) if rank is None else rank


def poll_order(facts: Facts) -> Iterator[Anomaly]:
    orders: dict[tuple[str, Isolation], Order] = {}
    expected: dict[tuple[str, str], int] = {}
    """(process, partition): the lowest valid next offset"""
    for event in facts.events:
        match event:
            case Assign():
                for partition, offset in event.positions.items():
                    expected[event.p, partition] = offset
            case Seek():
                expected[event.p, event.partition] = event.offset
            case Poll():
                isolation = facts.isolation.get(event.p, "read_committed")
                for partition, records in event.records.items():
                    if not records:
                        continue
                    order = orders.get((partition, isolation))
                    if order is None:
                        order = orders[partition, isolation] = Order(facts, facts.log(partition), isolation)
                    position = expected.get((event.p, partition), OFFSET_UNKNOWN)
                    yield from _check(event, partition, records, position, order)
                    expected[event.p, partition] = records[-1][0] + 1


def _check(
    poll: Poll, partition: str, records: list[tuple[int, str]], position: int, order: Order
) -> Iterator[Anomaly]:
    is_internal = False
    rank = order.rank
    for offset, value in records:
        if position != OFFSET_UNKNOWN and offset != position:
            due = order.rank_of(position)
            if offset < position:
                yield _went_back(poll, partition, position, offset, value, is_internal=is_internal)
            elif (found := rank.get(offset)) is not None and found > due:
                skipped = order.offsets[due:found]
                yield _skipped(poll, partition, position, offset, value, skipped, is_internal=is_internal)
        position = offset + 1
        is_internal = True


def _went_back(poll: Poll, partition: str, position: int, offset: int, value: str, *, is_internal: bool) -> Anomaly:
    kind = Kind.INTERNAL_NON_MONOTONIC_POLL if is_internal else Kind.NON_MONOTONIC_POLL
    what = f"{poll.p} was at offset {position} and got offset {offset} ({value})"
    evidence = {"process": poll.p, "position": position, "offset": offset, "value": value, "poll_t": poll.t}
    return Anomaly(kind, partition, what, evidence)


def _skipped(
    poll: Poll, partition: str, position: int, offset: int, value: str, skipped: list[int], *, is_internal: bool
) -> Anomaly:
    kind = Kind.INTERNAL_SKIPPED_POLL if is_internal else Kind.SKIPPED_POLL
    what = f"{poll.p} was at offset {position} and got offset {offset} ({value}), {len(skipped)} records further"
    evidence = {
        "process": poll.p,
        "position": position,
        "offset": offset,
        "value": value,
        "skipped": skipped[:_SHOWN_MAX],
        "poll_t": poll.t,
    }
    return Anomaly(kind, partition, what, evidence)
