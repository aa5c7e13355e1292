"""Checks that transactions are atomic, invisible before their commit, and do not block readers forever."""

from collections.abc import Iterator

from barnabas.testing.checker.anomalies import Anomaly, Kind
from barnabas.testing.checker.facts import Facts, Transaction


def aborted_reads(facts: Facts) -> Iterator[Anomaly]:
    for log in facts.logs.values():
        for offset, seen in log.read["read_committed"].items():
            written = facts.written.get(seen.value)
            if written is None or facts.fate(written) != "absent":
                continue
            why = f"was refused ({written.refused})" if written.refused else f"belongs to {written.txn}, "
            if not written.refused:
                transaction = facts.transactions[written.txn]
                why += "which was aborted" if transaction.reported_outcome == "abort" else "which was never committed"
            what = f"{seen.process} read {seen.value} at offset {offset}, which {why}"
            evidence = {
                "value": seen.value,
                "offset": offset,
                "read_by": seen.process,
                "read_t": seen.t,
                "txn": written.txn,
                "sent_t": written.t,
            }
            yield Anomaly(Kind.ABORTED_READ, log.partition, what, evidence)


def uncommitted_reads(facts: Facts) -> Iterator[Anomaly]:
    for log in facts.logs.values():
        for offset, seen in log.read["read_committed"].items():
            written = facts.written.get(seen.value)
            if written is None or not written.txn:
                continue
            asked_t = facts.transactions[written.txn].committing_t
            if asked_t is not None and seen.t < asked_t:
                what = (
                    f"{seen.process} read {seen.value} at offset {offset}, {asked_t - seen.t:.3f} s before its commit"
                )
                evidence = {
                    "value": seen.value,
                    "offset": offset,
                    "read_by": seen.process,
                    "read_t": seen.t,
                    "txn": written.txn,
                    "commit_asked_t": asked_t,
                }
                yield Anomaly(Kind.UNCOMMITTED_READ, log.partition, what, evidence)


def torn_transactions(facts: Facts) -> Iterator[Anomaly]:
    reached = {partition: max(log.read["read_committed"], default=-1) for partition, log in facts.logs.items()}
    for transaction in facts.transactions.values():
        if transaction.outcome == "abort" or len(transaction.values) < 2:
            continue
        visible, missing = [], []
        for value in transaction.values:
            if _is_visible(facts, value):
                visible.append(value)
            elif _should_have_been_read(facts, value, reached):
                missing.append(value)
        if visible and missing:
            yield _torn(facts, transaction, visible, missing)


def _is_visible(facts: Facts, value: str) -> bool:
    partition = facts.written[value].partition
    log = facts.log(partition)
    if "read_committed" in log.final:
        return value in log.final_read.get("read_committed", ())
    read = log.read["read_committed"]
    return any(offset in read for offset in facts.offsets_read.get(value, {}).get(partition, ()))


def _should_have_been_read(facts: Facts, value: str, reached: dict[str, int]) -> bool:
    written = facts.written[value]
    final = facts.log(written.partition).final.get("read_committed")
    place = facts.place_of(written)
    if final is not None:
        return place >= final.start or (place < 0 and final.start == 0 and final.position >= final.end)
    return 0 <= place < reached.get(written.partition, -1)


def _torn(facts: Facts, transaction: Transaction, visible: list[str], missing: list[str]) -> Anomaly:
    def where(values: list[str]) -> dict[str, str]:
        return {value: f"{facts.written[value].partition}@{facts.place_of(facts.written[value])}" for value in values}

    what = (
        f"{len(visible)} values of {transaction.txn} ({transaction.outcome}) are visible and {len(missing)} are not: "
        f"{', '.join(missing[:5])}"
    )
    evidence = {
        "txn": transaction.txn,
        "process": transaction.process,
        "outcome": transaction.outcome,
        "visible": where(visible),
        "missing": where(missing),
    }
    return Anomaly(Kind.TORN_TRANSACTION, facts.written[missing[0]].partition, what, evidence)


def stuck_last_stable_offsets(facts: Facts) -> Iterator[Anomaly]:
    held = {facts.written[value].partition for transaction in facts.open_transactions() for value in transaction.values}
    for log in facts.logs.values():
        for isolation, final in log.final.items():
            if final.position < final.end and log.partition not in held:
                what = f"{final.p} ({isolation}) stopped at offset {final.position} of {final.end}, but nothing is open"
                evidence = {"isolation": isolation, "position": final.position, "end": final.end, "t": final.t}
                yield Anomaly(Kind.STUCK_LAST_STABLE_OFFSET, log.partition, what, evidence)
