"""Short hand-written histories: what the checker reports for each, with its evidence."""

from pathlib import Path

import pytest

from barnabas.testing.checker import Anomaly, BadHistory, Header, Kind, check, history
from barnabas.testing.checker.events import (
    Ack,
    AnyEvent,
    Begin,
    Client,
    Commit,
    Committed,
    Committing,
    End,
    Fail,
    Final,
    Offsets,
    Outcome,
    Poll,
    Send,
)

HEADER = Header(workload="by hand")


def anomalies(*events: AnyEvent, header: Header = HEADER) -> list[Anomaly]:
    return check(header, events).anomalies


def sent(t: float, *values: str, partition: str = "t-0", txn: str = "", p: str = "producer") -> Send:
    return Send(t=t, p=p, partition=partition, values=list(values), txn=txn)


def acked(t: float, partition: str = "t-0", **offsets: int) -> Ack:
    return Ack(t=t, p="producer", partition=partition, acks=list(offsets.items()))


def polled(t: float, p: str = "reader", partition: str = "t-0", **offsets: int) -> Poll:
    return Poll(t=t, p=p, records={partition: [(offset, value) for value, offset in offsets.items()]})


def final(t: float, end: int, partition: str = "t-0") -> Final:
    return Final(t=t, p="reader", partition=partition, isolation="read_committed", start=0, end=end, position=end)


def test_lost_between_two_that_are_there() -> None:
    (found,) = anomalies(sent(1, "a", "b", "c"), acked(2, a=0, b=1, c=2), polled(3, a=0, c=2), final(4, 3))
    assert found.kind is Kind.LOST_WRITE
    assert found.what == "b of producer was acknowledged at offset 1 and is not there"
    assert found.evidence["offset"] == 1


def test_lost_with_the_tail_of_the_log() -> None:
    (found,) = anomalies(sent(1, "a", "b"), acked(2, a=0, b=1), polled(3, a=0), final(4, 1))
    assert found.kind is Kind.LOST_WRITE
    assert found.evidence["value"] == "b"


def test_acknowledged_and_another_is_there() -> None:
    events = (sent(1, "a"), acked(2, a=0), sent(3, "b", p="other"), polled(4, b=0), final(5, 1))
    assert {found.kind for found in anomalies(*events)} == {Kind.LOST_WRITE, Kind.INCONSISTENT_OFFSET}


def test_what_was_not_acknowledged_may_be_missing_or_there() -> None:
    assert not anomalies(sent(1, "a", "b", "c"), acked(2, a=0), polled(3, a=0, b=1), final(4, 2))


def test_a_plain_producer_may_repeat_itself_an_idempotent_one_may_not() -> None:
    events = (sent(1, "a"), acked(2, a=1), polled(3, a=0), polled(4, a=1), final(5, 2))
    (found,) = anomalies(*events)
    assert (found.kind, found.what) == (Kind.DUPLICATE, "a is at offsets 0, 1")
    assert not anomalies(*events, header=Header(workload="by hand", duplicates_allowed=True))


def test_refused_and_there_all_the_same() -> None:
    refusal = Fail(t=2, p="producer", partition="t-0", value="a", error="MESSAGE_TOO_LARGE", definite=True)
    (found,) = anomalies(sent(1, "a"), refusal, polled(3, a=0), final(4, 1))
    assert found.kind is Kind.ABORTED_READ
    assert "MESSAGE_TOO_LARGE" in found.what


def test_nobody_asked_for_the_commit_of_a_client_that_died() -> None:
    events = (Begin(t=1, p="producer", txn="x"), sent(2, "a", txn="x"), acked(3, a=0), polled(4, a=0))
    (found,) = anomalies(*events)
    assert found.kind is Kind.ABORTED_READ
    assert "never committed" in found.what


def two_halves(outcome: Outcome) -> list[AnyEvent]:
    return [
        Client(t=0, p="reader"),
        Begin(t=1, p="producer", txn="x"),
        sent(2, "left", partition="t-0", txn="x"),
        sent(2, "right", partition="t-1", txn="x"),
        acked(3, left=0),
        acked(3, right=0, partition="t-1"),
        Committing(t=4, p="producer", txn="x"),
        End(t=5, p="producer", txn="x", outcome=outcome),
    ]


@pytest.mark.parametrize("outcome", ["commit", "unknown"])
def test_half_a_transaction(outcome: Outcome) -> None:
    events = [*two_halves(outcome), polled(6, left=0), final(7, 2), final(8, 2, partition="t-1")]
    found = {anomaly.kind: anomaly for anomaly in anomalies(*events)}
    assert found[Kind.TORN_TRANSACTION].evidence["missing"] == {"right": "t-1@0"}
    assert (Kind.LOST_WRITE in found) == (outcome == "commit")


def test_a_transaction_of_unknown_outcome_may_be_there_whole_or_not_at_all() -> None:
    finals = (final(7, 2), final(8, 2, partition="t-1"))
    assert not anomalies(*two_halves("unknown"), *finals)
    assert not anomalies(*two_halves("unknown"), polled(6, left=0), polled(6, right=0, partition="t-1"), *finals)


def test_commits_that_overlap_may_come_in_any_order() -> None:
    late = Commit(t=1, p="one", group="g", offsets={"t-0": 5}, number=1)
    soon = Commit(t=2, p="other", group="g", offsets={"t-0": 9}, number=1)
    answers = (Committed(t=3, p="other", number=1), Committed(t=4, p="one", number=1))
    assert not anomalies(late, soon, *answers)
    audited = Offsets(t=7, p="auditor", group="g", asked=6, offsets={"t-0": 5})
    (found,) = anomalies(late, soon, *answers, audited)
    assert found.kind is Kind.COMMIT_REGRESSION
    assert found.what == "g was at offset 9, and later auditor was told 5"


def bank(*entries: tuple[str, str]) -> list[AnyEvent]:
    """Transfers as (partition, value): all are sent, then read in this order."""
    events: list[AnyEvent] = [Client(t=0, p="reader")]
    events += [sent(t, value, partition=partition) for t, (partition, value) in enumerate(entries, 1)]
    offsets: dict[str, int] = {}
    for t, (partition, value) in enumerate(entries, 100):
        offset = offsets[partition] = offsets.get(partition, -1) + 1
        events.append(polled(t, partition=partition, **{value: offset}))
    return events


BANK = Header(workload="bank", bank_total=200)


def test_a_reader_that_has_seen_a_part_of_the_opening_is_no_anomaly() -> None:
    opened = bank(("t-0", "teller/0/a/60"), ("t-1", "teller/0/b/70"), ("t-2", "teller/0/c/70"))
    assert not anomalies(*opened, header=BANK)
    assert not anomalies(*opened[:-1], header=BANK)


def test_a_reader_between_the_halves_of_a_transfer_is_no_anomaly() -> None:
    opened = (("t-0", "teller/0/a/100"), ("t-1", "teller/0/b/100"))
    transfer = bank(*opened, ("t-0", "teller/1/a/70"), ("t-1", "teller/1/b/130"))
    assert not anomalies(*transfer, header=BANK)
    assert not anomalies(*transfer[:-1], header=BANK)


def test_money_that_disappears() -> None:
    opened = (("t-0", "teller/0/a/100"), ("t-1", "teller/0/b/100"))
    (found,) = anomalies(*bank(*opened, ("t-0", "teller/1/a/70"), ("t-1", "teller/1/b/120")), header=BANK)
    assert found.kind is Kind.WRONG_TOTAL
    assert found.what == "reader sees 190 with teller after transfer 1, not 200"


MOVES = Header(workload="by hand", moves={"in": "out"})


def moved(*made: str) -> list[AnyEvent]:
    """One record in `in`, and the records in `out` that a reader sees for it."""
    events: list[AnyEvent] = [sent(1, "order", partition="in-0"), acked(2, partition="in-0", order=0)]
    events += [polled(3, partition="in-0", order=0)]
    for offset, value in enumerate(made):
        events.append(Send(t=4, p="mover", partition="out-0", values=[value], sources=["order"]))
        events.append(polled(5 + offset, partition="out-0", **{value: offset}))
    return events


def test_exactly_once() -> None:
    assert not anomalies(*moved("invoice"), header=MOVES)
    (twice,) = anomalies(*moved("invoice", "second-invoice"), header=MOVES)
    assert twice.kind is Kind.PROCESSED_TWICE
    assert twice.evidence["made"] == ["invoice at out-0@0", "second-invoice at out-0@1"]
    (never,) = anomalies(*moved(), header=MOVES)
    assert never.kind is Kind.UNPROCESSED


def test_a_value_may_be_sent_once_only() -> None:
    with pytest.raises(BadHistory, match="a is sent twice"):
        anomalies(sent(1, "a"), sent(2, "a", p="other"))


def test_a_transaction_begins_first() -> None:
    with pytest.raises(BadHistory, match="before it begins"):
        anomalies(sent(1, "a", txn="x"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("hello\n", "not a header"),
        ('{"event":"history","workload":"x","format":2}\n', "format 2"),
        ('{"event":"history","workload":"x"}\n{"event":"send"}\n', "line 2 .* is not an event"),
    ],
)
def test_a_file_that_is_no_history_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(text)
    with pytest.raises(BadHistory, match=problem):
        history.read(path)


def test_a_line_that_a_kill_cut_short_is_left_out(tmp_path: Path) -> None:
    recorder = history.Recorder(tmp_path / "one", "one")
    recorder.note(sent(2, "a", p="one"))
    recorder.close()
    with open(tmp_path / "one", "ab") as file:
        file.write(b'{"event":"ack","t":3,"p":"on')
    other = history.Recorder(tmp_path / "other", "other")
    other.note(sent(1, "b", p="other"))
    other.close()
    merged = history.merge([tmp_path / "one", tmp_path / "other"])
    assert [event.p for event in merged] == ["other", "one"]
