"""Lag, rates, ages and times to catch up, from numbers alone."""

import math

import pytest

from barnabas.spark.query.lag import PartitionLag, PartitionMeter, RateWindow, catch_up_s, total_rate


def measured(meter: PartitionMeter, now_s: float, position: int, end: int, *, pace_s: float | None = 0) -> PartitionLag:
    return meter.measure(now_s, position=position, log_start=0, log_end=end, oldest_unread_ms=None, pace_s=pace_s)


def test_lag_and_rates_of_a_query_that_catches_up() -> None:
    meter = PartitionMeter("orders", 0)
    first = measured(meter, 0, 0, 1000)
    assert (first.lag, first.in_per_second, first.out_per_second, first.catch_up_s) == (1000, None, None, None)
    second = measured(meter, 10, 500, 1100)
    assert (second.lag, second.in_per_second, second.out_per_second) == (600, 10, 50)
    assert second.catch_up_s == 15
    third = measured(meter, 20, 1100, 1100)
    assert (third.lag, third.catch_up_s, third.age_s(now_ms=5)) == (0, 0, 0)


def test_before_the_first_batch_nobody_knows_how_fast_it_will_be() -> None:
    meter = PartitionMeter("orders", 0)
    measured(meter, 0, 0, 1000, pace_s=None)
    waiting = measured(meter, 10, 0, 1000, pace_s=None)
    assert (waiting.in_per_second, waiting.out_per_second, waiting.catch_up_s) == (0, None, None)
    assert measured(meter, 20, 500, 1000).out_per_second == 25


def test_a_backlog_that_grows_is_never_caught_up() -> None:
    assert catch_up_s(10, in_per_second=5, out_per_second=5) == math.inf
    assert catch_up_s(10, in_per_second=5, out_per_second=0) == math.inf
    assert catch_up_s(0, in_per_second=5, out_per_second=0) == 0
    assert catch_up_s(10, in_per_second=None, out_per_second=7) is None


def test_the_window_forgets_what_is_older_than_a_minute() -> None:
    rate = RateWindow()
    for second in range(0, 1000, 5):
        rate.add(second, second * 100 if second < 900 else 90_000, window_s=60)
    assert rate.per_second == 0, "nothing has come for the last 95 seconds"


def test_a_window_covers_several_batches_that_are_long_or_rare() -> None:
    meter = PartitionMeter("orders", 0)
    # Batches of 100 s, measured every 5: the place moves by 1,000 at the end of each.
    for now_s in range(0, 600, 5):
        lag = measured(meter, now_s, now_s // 100 * 1000, 10_000, pace_s=100)
    assert lag.out_per_second == pytest.approx(10, rel=0.25)


def test_many_samples_are_thinned_and_the_rate_stays() -> None:
    rate = RateWindow()
    for step in range(10_000):
        rate.add(step / 100, step, window_s=60)
    assert len(rate._samples) <= 257
    assert rate.per_second == pytest.approx(100)


def test_a_topic_that_was_made_again_begins_a_new_count() -> None:
    rate = RateWindow()
    rate.add(0, 1000, 60)
    rate.add(1, 2000, 60)
    rate.add(2, 5, 60)
    assert rate.per_second is None
    rate.add(3, 15, 60)
    assert rate.per_second == 10


def test_two_measures_at_one_moment_are_one() -> None:
    rate = RateWindow()
    rate.add(1, 10, 60)
    rate.add(1, 20, 60)
    assert rate.per_second is None
    rate.add(2, 30, 60)
    assert rate.per_second == 10


def test_headroom_tells_of_retention() -> None:
    behind = PartitionLag("orders", 0, 40, 100, 150, None, None, oldest_unread_ms=1_000)
    assert (behind.headroom, behind.lag) == (-60, 110)
    assert behind.age_s(now_ms=61_000) == 60
    assert behind.age_s(now_ms=500) == 0, "a timestamp from the future is no age"


def test_a_position_beyond_the_end_is_no_negative_lag() -> None:
    assert PartitionLag("orders", 0, 40, 0, 3, None, None, None).lag == 0


def test_totals_are_of_what_is_known() -> None:
    assert total_rate([None, 2.0, 3.0]) == 5
    assert total_rate([None]) is None
