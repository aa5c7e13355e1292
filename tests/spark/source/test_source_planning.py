"""Splitting ranges into tasks: nothing is lost or read twice, and tasks are neither too small nor too large."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.model import TopicPartition
from barnabas.spark.source.planning import LARGE_OFFSETS, SMALL_OFFSETS, plan, size, split
from barnabas.spark.source.ranges import OffsetRange

ranges = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 9)),
    st.tuples(st.integers(0, 10**6), st.one_of(st.integers(0, 50), st.integers(0, 3 * LARGE_OFFSETS))),
    max_size=12,
).map(
    lambda found: [
        OffsetRange(topic, number, start, start + count, "id") for (topic, number), (start, count) in found.items()
    ]
)
a_count = st.one_of(st.none(), st.integers(1, 40))


def joined(tasks: list[tuple[OffsetRange, ...]]) -> list[OffsetRange]:
    """The ranges again, put together from their pieces; fails where pieces overlap or leave a gap."""
    whole: list[OffsetRange] = []
    for piece in sorted(piece for task in tasks for piece in task):
        assert piece.start < piece.end
        if whole and (whole[-1].topic, whole[-1].partition) == (piece.topic, piece.partition):
            assert piece.start == whole[-1].end
            whole[-1] = OffsetRange(piece.topic, piece.partition, whole[-1].start, piece.end)
        else:
            whole.append(piece)
    return whole


@given(ranges=ranges, least=a_count, most=st.one_of(st.none(), st.integers(1, 10**7)))
def test_tasks_are_the_ranges_in_pieces(ranges: list[OffsetRange], least: int | None, most: int | None) -> None:
    if most is not None:
        most = max(most, max((size(one) // 50 for one in ranges), default=1), 1)
    tasks = plan(ranges, min_partitions=least, max_records=most)
    assert joined(tasks) == sorted(one for one in ranges if size(one))
    assert all(piece.topic_id == "id" for task in tasks for piece in task)
    if most is not None and least is None:
        assert all(sum(size(piece) for piece in task) <= most for task in tasks)
    if least is not None:
        assert all(len(task) == 1 for task in tasks)


@given(ranges=ranges)
def test_without_options_tasks_are_bounded_and_small_ones_share(ranges: list[OffsetRange]) -> None:
    tasks = plan(ranges)
    for task in tasks:
        total = sum(size(piece) for piece in task)
        assert total <= LARGE_OFFSETS
        assert len(task) == 1 or total <= SMALL_OFFSETS
    small = [one for one in ranges if 0 < size(one) <= SMALL_OFFSETS]
    shared = [task for task in tasks if sum(map(size, task)) <= SMALL_OFFSETS]
    # Two tasks that follow each other hold more than one could, so they are at most twice as many as needed.
    assert len(shared) <= 2 * sum(map(size, small)) // SMALL_OFFSETS + 1 + sum(
        size(one) > LARGE_OFFSETS for one in ranges
    )


@given(start=st.integers(0, 100), count=st.integers(0, 100), parts=st.integers(1, 30))
def test_split_pieces_differ_by_one_at_most(start: int, count: int, parts: int) -> None:
    pieces = split(OffsetRange("t", 0, start, start + count), parts)
    assert sum(map(size, pieces)) == count
    assert len(pieces) == min(parts, count)
    if pieces:
        assert max(map(size, pieces)) - min(map(size, pieces)) <= 1


def test_min_partitions_splits_in_proportion_as_the_connector_does() -> None:
    wanted = [OffsetRange("t", 0, 0, 5), OffsetRange("t", 1, 0, 10), OffsetRange("t", 2, 0, 1)]
    tasks = plan(wanted, min_partitions=6)
    # The connector: the range of 1 keeps one task, the others share five: 5/15*5 = 1.67 -> 2 and 10/15*5 = 3.33 -> 3.
    assert [(task[0].partition, task[0].start, task[0].end) for task in tasks] == [
        (0, 0, 2),
        (0, 2, 5),
        (1, 0, 3),
        (1, 3, 6),
        (1, 6, 10),
        (2, 0, 1),
    ]


def test_min_partitions_below_the_number_of_ranges_changes_nothing() -> None:
    wanted = [OffsetRange("t", number, 0, 3) for number in range(4)]
    assert plan(wanted, min_partitions=2) == [(one,) for one in wanted]


def test_small_ranges_of_one_leader_share_a_task() -> None:
    half = SMALL_OFFSETS // 2
    wanted = [OffsetRange("t", number, 0, half) for number in range(4)]
    leaders = {TopicPartition("t", number): number % 2 for number in range(4)}
    tasks = plan(wanted, leaders=leaders)
    assert [[piece.partition for piece in task] for task in tasks] == [[0, 2], [1, 3]]
