"""How much goes into a batch."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.model import TopicPartition
from barnabas.spark.source.admission import Delay, limited, waiting

offsets = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from("ab"), st.integers(0, 9)),
    st.tuples(st.integers(0, 10**9), st.integers(0, 10**6)),
    min_size=1,
)


@given(found=offsets, limit=st.integers(1, 10**6))
def test_limits_add_up(found: dict[TopicPartition, tuple[int, int]], limit: int) -> None:
    begin = {place: first for place, (first, _) in found.items()}
    end = {place: first + count for place, (first, count) in found.items()}
    ends = limited(limit, begin, end)
    assert ends.keys() == end.keys()
    assert all(begin[place] <= ends[place] <= end[place] for place in end)
    taken = waiting(begin, ends)
    busy = sum(1 for _, count in found.values() if count)
    # Shares are rounded, by less than one offset for each partition.
    assert min(limit, waiting(begin, end)) - busy <= taken <= limit + busy
    if waiting(begin, end):
        assert taken > 0
    # Every partition with records gets a share, so that none starves.
    small = [place for place, (_, count) in found.items() if count]
    if limit >= len(small):
        assert all(ends[place] > begin[place] for place in small)


def test_shares_are_those_of_the_connector() -> None:
    a, b, c, new = (TopicPartition("t", number) for number in range(4))
    begin = {a: 0, b: 100, c: 7}
    end = {a: 1000, b: 110, c: 7, new: 5}
    # 1010 offsets in all, 100 allowed: 99.0099 -> 99; 0.99 -> 1. A partition without a known begin is not limited here.
    assert limited(100, begin, end) == {a: 99, b: 101, c: 7, new: 5}


def test_less_than_the_limit_is_taken_whole() -> None:
    place = TopicPartition("t", 0)
    assert limited(10, {place: 3}, {place: 9}) == {place: 9}
    assert limited(10, {place: 9}, {place: 9}) == {place: 9}


def test_a_batch_waits_for_enough_but_not_for_ever() -> None:
    delay = Delay(least=10, longest_ms=1000)
    assert not delay.holds_back(1, now_ms=5)  # the first never waits
    assert delay.holds_back(9, now_ms=500)
    assert not delay.holds_back(10, now_ms=600)
    assert delay.holds_back(9, now_ms=1599)
    assert not delay.holds_back(9, now_ms=1600)
    assert delay.holds_back(0, now_ms=1700)
