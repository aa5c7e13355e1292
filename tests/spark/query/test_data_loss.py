"""The report of lost data: right numbers, a table that can be read, and what to do next."""

import pickle

import pytest

from barnabas.spark.errors import UserError
from barnabas.spark.query.data_loss import Cause, DataLost, Loss, failure, next_steps, warning

OVERTAKEN = Loss("orders", 1, 1200, 5000)


@pytest.mark.parametrize(
    ("loss", "lost"),
    [
        (Loss("t", 0, 10, 25), 15),
        (Loss("t", 0, 10, 25, until=20), 10),  # the batch ends before the first record that is left
        (Loss("t", 0, 10, 25, until=40), 15),
        (Loss("t", 0, 10, None), None),
        (Loss("t", 0, 10, None, until=40), 30),
        (Loss("t", 0, 10, 10), 0),
        (Loss("t", 0, 10, 3, Cause.CUT_OFF), None),
        (Loss("t", 0, 10, 0, Cause.RECREATED), None),
        (Loss("t", 0, 10, 0, Cause.RECREATED, until=12), 2),
        (Loss("t", 0, 10, None, Cause.GONE), None),
    ],
)
def test_counts_what_is_lost(loss: Loss, lost: int | None) -> None:
    assert loss.lost_at_most == lost


def test_a_failure_has_a_row_for_each_partition_in_order() -> None:
    text = failure([OVERTAKEN, Loss("orders", 0, 7, 8), Loss("apples", 3, 0, None, Cause.GONE)])
    rows = [line.split() for line in text.splitlines() if line.startswith("  ")]
    assert rows[0][:2] == ["topic", "partition"]
    assert [row[:5] for row in rows[1:]] == [
        ["apples", "3", "0", "-", "unknown"],
        ["orders", "0", "7", "8", "1"],
        ["orders", "1", "1,200", "5,000", "3,800"],
    ]
    assert text.startswith("Records of 1 partition, and up to 3,801 of others, were gone")


def test_columns_stand_under_their_names() -> None:
    lines = [
        line for line in failure([OVERTAKEN, Loss("a-long-name-of-a-topic", 0, 7, 8)]).splitlines() if line[:2] == "  "
    ]
    for title in ("partition", "wanted from", "available from", "lost at most"):
        end = lines[0].index(title) + len(title)
        assert all(line[end - 1].isdigit() and line[end] == " " for line in lines[1:]), title


def test_one_record_is_told_in_the_singular() -> None:
    assert failure([Loss("t", 0, 1, 2)]).startswith("1 record was gone before the query could read it;")
    assert failure([OVERTAKEN]).startswith("Up to 3,800 records were gone before the query could read them;")


def test_says_of_when_the_oldest_record_is_that_is_left() -> None:
    dated = Loss("orders", 1, 1200, 5000, oldest_left_ms=1_700_000_000_000)
    assert "the oldest remaining record is from 2023-11-14 22:13:20.000 UTC" in failure([dated])
    undated = Loss("orders", 1, 1200, 5000, oldest_left_ms=1 << 62)
    assert f"timestamp {1 << 62}" in failure([undated])


def test_long_tables_are_cut_and_counted() -> None:
    text = failure([Loss("wide", number, 0, 10) for number in range(1000)])
    assert text.startswith("Up to 10,000 records were gone")
    assert "and 960 more partitions" in text
    assert len(text.splitlines()) < 50


def test_a_failure_names_the_ways_out() -> None:
    steps = next_steps([OVERTAKEN])
    assert 'option("failOnDataLoss", "false")' in steps
    assert "startingOffsets" in steps
    assert "barnabas topic alter orders --config retention.ms=" in steps
    assert "retention" not in next_steps([Loss("t", 0, 1, None, Cause.GONE)])


def test_a_warning_says_that_the_query_goes_on() -> None:
    text = warning([OVERTAKEN])
    assert "It continues without them, because failOnDataLoss is false." in text
    assert "hint: to keep records longer" in text
    assert "so it stops" not in text


def test_the_error_is_one_that_a_user_can_read_and_survives_pickling() -> None:
    error = DataLost([OVERTAKEN, Loss("orders", 0, 7, 8)])
    assert isinstance(error, UserError)
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, DataLost)
    assert copy.losses == error.losses == (Loss("orders", 0, 7, 8), OVERTAKEN)
    assert str(copy) == str(error)
    assert str(error).splitlines()[-1].startswith("hint: to continue without these records")


def test_a_report_of_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one loss"):
        failure([])
