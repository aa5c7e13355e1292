"""Which records a batch reads between two offsets, and which are missing."""

from barnabas.model import TopicPartition
from barnabas.spark.query.data_loss import Cause, Loss
from barnabas.spark.source.gaps import ranges_between, vanished
from barnabas.spark.source.offsets import StreamOffsets
from barnabas.spark.source.ranges import OffsetRange

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
OLD, NEW = {"t": "old"}, {"t": "new"}


def between(
    start: dict[TopicPartition, int],
    end: dict[TopicPartition, int],
    *,
    earliest: dict[TopicPartition, int] | None = None,
    looked_up: set[TopicPartition] | None = None,
    ids: tuple[dict[str, str], dict[str, str], dict[str, str]] = (OLD, OLD, OLD),
) -> tuple[list[OffsetRange], list[Loss]]:
    found = earliest or {}
    return ranges_between(
        StreamOffsets(start, ids[0]),
        StreamOffsets(end, ids[1]),
        ids_now=ids[2],
        looked_up=frozenset(found if looked_up is None else looked_up),
        earliest=found,
    )


def test_the_range_between() -> None:
    ranges, losses = between({T0: 3, T1: 5}, {T0: 9, T1: 5})
    assert (ranges, losses) == ([OffsetRange("t", 0, 3, 9)], [])
    assert ranges[0].topic_id == "old"


def test_a_new_partition_is_read_from_its_first_record() -> None:
    assert between({T0: 3}, {T0: 3, T1: 4}, earliest={T1: 0}) == ([OffsetRange("t", 1, 0, 4)], [])


def test_a_new_partition_that_has_lost_records_already_is_reported() -> None:
    ranges, losses = between({}, {T1: 4}, earliest={T1: 2})
    assert ranges == [OffsetRange("t", 1, 2, 4)]
    assert losses == [Loss("t", 1, 0, 2, Cause.EXPIRED, 4)]


def test_what_retention_took_is_reported_and_the_rest_is_read() -> None:
    ranges, losses = between({T0: 3}, {T0: 9}, earliest={T0: 5})
    assert ranges == [OffsetRange("t", 0, 5, 9)]
    assert losses == [Loss("t", 0, 3, 5, Cause.EXPIRED, 9)]


def test_retention_may_have_taken_the_whole_batch() -> None:
    ranges, losses = between({T0: 3}, {T0: 9}, earliest={T0: 50})
    assert (ranges, losses) == ([], [Loss("t", 0, 3, 50, Cause.EXPIRED, 9)])


def test_nothing_is_missed_where_nothing_was_wanted() -> None:
    assert between({T0: 9}, {T0: 9}, earliest={T0: 50}) == ([], [])


def test_deleted_partitions_are_reported() -> None:
    assert between({T0: 3, T1: 5}, {T0: 3}) == ([], [Loss("t", 1, 5, None, Cause.GONE)])
    assert between({T0: 3}, {T0: 8}, looked_up={T0}) == ([], [Loss("t", 0, 3, None, Cause.GONE, 8)])


def test_a_log_that_ends_before_the_start_is_reported() -> None:
    assert between({T0: 30}, {T0: 8}) == ([], [Loss("t", 0, 30, 8, Cause.CUT_OFF)])


def test_a_topic_that_was_made_again_is_read_from_its_beginning() -> None:
    ranges, losses = between({T0: 30}, {T0: 50}, earliest={T0: 0}, ids=(OLD, NEW, NEW))
    assert ranges == [OffsetRange("t", 0, 0, 50)]
    assert losses == [Loss("t", 0, 30, 0, Cause.RECREATED)]


def test_a_batch_of_a_topic_that_is_no_more_reads_nothing_of_its_successor() -> None:
    ranges, losses = between({T0: 30}, {T0: 50}, earliest={T0: 0}, ids=(OLD, OLD, NEW))
    assert (ranges, losses) == ([], [Loss("t", 0, 30, None, Cause.RECREATED, 50)])


def test_what_vanished_under_a_query() -> None:
    start = StreamOffsets({T0: 30, T1: 5}, OLD)
    assert vanished(start, {T0: 30, T1: 9}, OLD) == []
    assert vanished(start, {T0: 30}, OLD) == [Loss("t", 1, 5, None, Cause.GONE)]
    assert vanished(start, {T0: 29, T1: 5}, OLD) == [Loss("t", 0, 30, 29, Cause.CUT_OFF)]
    assert {loss.cause for loss in vanished(start, {T0: 99, T1: 99}, NEW)} == {Cause.RECREATED}
