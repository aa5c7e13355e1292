"""Checks that the records of each producer are in the order in which it sent them."""

from collections.abc import Iterator

from barnabas.testing.checker.anomalies import Anomaly, Kind
from barnabas.testing.checker.events import OFFSET_UNKNOWN
from barnabas.testing.checker.facts import Facts, Written


def send_order(facts: Facts) -> Iterator[Anomaly]:
    highest: dict[tuple[str, str], tuple[int, Written]] = {}
    """(process, partition): the last record so far, and its offset"""
    for written in facts.written.values():
        place = facts.place_of(written)
        if place == OFFSET_UNKNOWN:
            continue
        key = (written.process, written.partition)
        before_place, before = highest.get(key, (OFFSET_UNKNOWN, written))
        if place < before_place:
            is_internal = bool(written.txn) and written.txn == before.txn
            kind = Kind.INTERNAL_NON_MONOTONIC_SEND if is_internal else Kind.NON_MONOTONIC_SEND
            what = f"{before.value} was sent before {written.value}, but is at {before_place}, after it at {place}"
            evidence = {
                "process": written.process,
                "values": [before.value, written.value],
                "offsets": [before_place, place],
                "txns": [before.txn, written.txn],
                "sent_t": [before.t, written.t],
            }
            yield Anomaly(kind, written.partition, what, evidence)
        else:
            highest[key] = (place, written)
