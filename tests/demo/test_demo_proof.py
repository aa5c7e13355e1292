"""The proof must be able to fail: each flaw is seen as what it is."""

from pathlib import Path

from demo.proof import prove, read_acked, read_processed

ACKED = [("a-0", (0, 0)), ("a-1", (0, 1)), ("b-0", (1, 0))]


def test_everything_once() -> None:
    proof = prove(ACKED, ACKED)
    assert proof.holds()
    assert proof.line() == "sent = received: 3 = 3, lost 0, doubled 0"


def test_a_redelivery_is_counted_and_is_no_double() -> None:
    proof = prove(ACKED, [*ACKED, ACKED[1]])
    assert proof.holds()
    assert proof.redelivered == 1


def test_a_loss() -> None:
    proof = prove(ACKED, ACKED[:2])
    assert not proof.holds()
    assert proof.line() == "sent ≠ received: 3 ≠ 2, lost 1, doubled 0"


def test_a_double_is_one_id_at_two_offsets() -> None:
    proof = prove(ACKED, [*ACKED, ("a-1", (0, 2))])
    assert not proof.holds()
    assert proof.doubled == 1


def test_a_record_elsewhere_than_acknowledged_and_a_place_with_two_records() -> None:
    assert prove(ACKED, [*ACKED[:2], ("b-0", (1, 7))]).misplaced == 1
    assert prove(ACKED, [*ACKED, ("c-0", (1, 0))]).misplaced == 1


def test_records_out_of_their_senders_order() -> None:
    swapped = [("a-1", (0, 0)), ("a-0", (0, 1))]
    proof = prove(swapped, swapped)
    assert proof.out_of_order == 1
    assert not proof.holds()


def test_nothing_sent_proves_nothing() -> None:
    assert not prove([], []).holds()


def test_a_line_cut_by_a_kill_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "acked").write_text("a-0 0 0\n")
    (tmp_path / "processed").write_text("0 0 a-0\n0 1 a-")
    assert read_acked([tmp_path / "acked"]) == [("a-0", (0, 0))]
    assert read_processed([tmp_path / "processed"]) == [("a-0", (0, 0))]
