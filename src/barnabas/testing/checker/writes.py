"""Checks that every acknowledged value is there, once, at its offset, and that there is nothing else."""

from collections.abc import Iterator

from barnabas.testing.checker.anomalies import Anomaly, Kind
from barnabas.testing.checker.events import OFFSET_UNKNOWN, Final
from barnabas.testing.checker.facts import Facts, Log, Written


def lost_and_unseen_writes(facts: Facts) -> Iterator[Anomaly]:
    missing: set[str] = set()
    for written in facts.written.values():
        if facts.fate(written) != "there":
            continue
        log = facts.log(written.partition)
        kind = _missing_in_the_end(facts, log, written) if log.final else _missing_in_polls(facts, log, written)
        if kind is not None:
            missing.add(written.value)
            yield _missing(kind, facts, log, written)
    for log in facts.logs.values():
        yield from _vanished(log, missing)


def _missing_in_the_end(facts: Facts, log: Log, written: Written) -> Kind | None:
    """Compares with what was read at the end of the run."""
    place = facts.place_of(written)
    for isolation, final in log.final.items():
        if written.value in log.final_read.get(isolation, ()):
            continue
        if place == OFFSET_UNKNOWN:
            if final.start == 0:
                return Kind.LOST_WRITE if _is_complete(final) else Kind.UNSEEN_WRITE
        elif place >= final.start:
            return Kind.LOST_WRITE if _is_complete(final) or place < final.position else Kind.UNSEEN_WRITE
    return None


def _missing_in_polls(facts: Facts, log: Log, written: Written) -> Kind | None:
    """Without a final read: every record before the last one that was read must have been read by somebody."""
    if facts.offsets_read.get(written.value):
        return None
    place = facts.place_of(written)
    return Kind.LOST_WRITE if OFFSET_UNKNOWN < place <= log.offset_max() else Kind.UNSEEN_WRITE


def _missing(kind: Kind, facts: Facts, log: Log, written: Written) -> Anomaly:
    place = facts.place_of(written)
    what = f"{written.value} of {written.process} "
    what += "was acknowledged" if written.acked_offset is not None else f"was committed with {written.txn}"
    what += "" if place == OFFSET_UNKNOWN else f" at offset {place}"
    what += " and is not there" if kind is Kind.LOST_WRITE else " and was never read"
    ends = {isolation: [final.start, final.position, final.end] for isolation, final in log.final.items()}
    evidence = {
        "value": written.value,
        "process": written.process,
        "offset": place,
        "txn": written.txn,
        "sent_t": written.t,
        "instead": there.value if (there := log.by_offset.get(place)) and there.value != written.value else "",
        "highest_offset_read": log.offset_max(),
        "final_start_position_end": ends,
    }
    return Anomaly(kind, written.partition, what, evidence)


def _vanished(log: Log, known: set[str]) -> Iterator[Anomaly]:
    """A record that was read once must stay, acknowledged or not."""
    for isolation, final in log.final.items():
        final_values = log.final_read.get(isolation, set())
        for offset, seen in log.read[isolation].items():
            if seen.value not in final_values and seen.value not in known and final.start <= offset < final.position:
                known.add(seen.value)
                what = f"{seen.value} was read by {seen.process} at offset {offset} and is gone"
                evidence = {"value": seen.value, "offset": offset, "read_by": seen.process, "read_t": seen.t}
                yield Anomaly(Kind.LOST_WRITE, log.partition, what, evidence)


def duplicates(facts: Facts) -> Iterator[Anomaly]:
    if facts.header.duplicates_allowed:
        return
    for value, places in facts.offsets_read.items():
        for partition, offsets in places.items():
            if len(offsets) > 1:
                what = f"{value} is at offsets {', '.join(map(str, sorted(offsets)))}"
                yield Anomaly(Kind.DUPLICATE, partition, what, {"value": value, "offsets": sorted(offsets)})


def inconsistent_offsets(facts: Facts) -> Iterator[Anomaly]:
    for log in facts.logs.values():
        for offset, one, other in log.conflicts:
            what = f"offset {offset} is {one.value} to {one.process} and {other.value} to {other.process}"
            yield Anomaly(
                Kind.INCONSISTENT_OFFSET,
                log.partition,
                what,
                {
                    "offset": offset,
                    "values": [one.value, other.value],
                    "processes": [one.process, other.process],
                    "times": [one.t, other.t],
                },
            )
    if facts.header.duplicates_allowed:
        return
    for written in facts.written.values():
        acked = written.acked_offset
        if acked is None or acked == OFFSET_UNKNOWN:
            continue
        read = facts.offsets_read.get(written.value, {}).get(written.partition)
        if read and acked not in read:
            what = f"{written.value} was acknowledged at offset {acked} and is read at {read[0]}"
            evidence = {"value": written.value, "acknowledged_at": acked, "read_at": sorted(read)}
            yield Anomaly(Kind.INCONSISTENT_OFFSET, written.partition, what, evidence)


def phantoms(facts: Facts) -> Iterator[Anomaly]:
    for value, places in facts.offsets_read.items():
        written = facts.written.get(value)
        for partition, offsets in places.items():
            if written is None or written.partition != partition:
                sent = "nobody has sent it" if written is None else f"it was sent to {written.partition}"
                what = f"{value} was read at offset {offsets[0]}, and {sent}"
                yield Anomaly(Kind.PHANTOM, partition, what, {"value": value, "offsets": offsets})
    for ack, value, offset in facts.acked_unsent:
        what = f"{value} was acknowledged at offset {offset}, and nobody has sent it there"
        yield Anomaly(Kind.PHANTOM, ack.partition, what, {"value": value, "offsets": [offset], "process": ack.p})


def _is_complete(final: Final) -> bool:
    return final.position >= final.end
