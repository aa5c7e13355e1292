"""Rates and buckets: a limit holds over time for every pattern, and matches Kafka's own figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.quotas import limits as quota_limits
from barnabas.quotas.client_quotas import METERS_MAX, ClientQuotas, Meters
from barnabas.quotas.limits import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Limits,
    QuotaKey,
    Share,
    connection_rates,
)
from barnabas.quotas.rate import Rate, Windows
from barnabas.quotas.token_bucket import TokenBucket
from barnabas.wire.errors import ThrottlingQuotaExceeded

ELEVEN = Windows(samples=11, size_ms=1000)
START_MS = 1_700_000_000_000


def test_a_newcomer_is_measured_over_the_whole_span() -> None:
    rate = Rate(ELEVEN)
    rate.record(1000, START_MS)
    assert rate.span_ms(START_MS) == 10_000
    assert rate.measure(START_MS) == 100


def test_the_span_grows_with_time_and_keeps_to_the_windows() -> None:
    rate = Rate(ELEVEN)
    for second in range(30):
        rate.record(100, START_MS + second * 1000)
    now_ms = START_MS + 29_000
    # The twelfth window replaces the first.
    assert rate.span_ms(now_ms) == 10_000
    assert rate.measure(now_ms) == 110
    assert rate.span_ms(now_ms + 999) == 10_999
    assert rate.measure(now_ms + 999) == pytest.approx(1100 / 10.999)


def test_old_windows_are_forgotten() -> None:
    rate = Rate(ELEVEN)
    rate.record(1_000_000, START_MS)
    assert rate.measure(START_MS + 10_999) > 0
    assert rate.measure(START_MS + 11_000) == 0


def test_the_rest_brings_the_rate_back_to_the_limit() -> None:
    rate = Rate(ELEVEN)
    rate.record(3000, START_MS)
    # 300 a second over ten seconds, and 100 are allowed: Kafka asks for (300 - 100) / 100 * 10 s.
    assert rate.excess_ms(100, START_MS) == 20_000
    assert rate.excess_ms(300, START_MS) == 0


@given(
    limit=st.integers(10, 100_000),
    steps=st.lists(st.tuples(st.integers(1, 50_000), st.integers(0, 3000)), min_size=1, max_size=200),
)
def test_a_client_that_obeys_throttling_stays_within_its_limit(limit: int, steps: list[tuple[int, int]]) -> None:
    rate = Rate(ELEVEN)
    now_ms, sent, largest = START_MS, 0, 0
    for size, pause_ms in steps:
        rate.record(size, now_ms)
        sent, largest = sent + size, max(largest, size)
        now_ms += rate.excess_ms(limit, now_ms) + pause_ms
    # A full span may come at once, and the request that exceeded the limit was accepted as a whole.
    assert sent <= limit * (now_ms - START_MS + 12_000) / 1000 + 2 * largest


@given(
    limit=st.floats(0.1, 1000), spendings=st.lists(st.tuples(st.integers(1, 500), st.integers(0, 5000)), max_size=100)
)
def test_a_bucket_never_gives_more_than_its_burst_and_its_rate(limit: float, spendings: list[tuple[int, int]]) -> None:
    bucket = TokenBucket(ELEVEN)
    now_ms, spent, largest = START_MS, 0, 0
    for tokens, pause_ms in spendings:
        if bucket.debt_ms(limit, now_ms) == 0:
            bucket.spend(tokens, limit, now_ms)
            spent, largest = spent + tokens, max(largest, tokens)
        now_ms += pause_ms
    assert spent <= limit * (11 + (now_ms - START_MS) / 1000) + largest + 1


def test_a_debt_is_paid_by_waiting() -> None:
    bucket = TokenBucket(Windows(samples=2, size_ms=1000))
    bucket.spend(30, 10, START_MS)
    assert bucket.debt_ms(10, START_MS) == 1000
    assert bucket.debt_ms(10, START_MS + 400) == 600
    assert bucket.debt_ms(10, START_MS + 1000) == 0


BOTH: QuotaKey = (("client-id", "c"), ("user", "u"))
IN_ORDER: list[tuple[QuotaKey, Share]] = [
    (BOTH, Share("u", "c")),
    ((("client-id", None), ("user", "u")), Share("u", "c")),
    ((("user", "u"),), Share("u", "")),
    ((("client-id", "c"), ("user", None)), Share("u", "c")),
    ((("client-id", None), ("user", None)), Share("u", "c")),
    ((("user", None),), Share("u", "")),
    ((("client-id", "c"),), Share("", "c")),
    ((("client-id", None),), Share("", "c")),
]


@given(st.sets(st.integers(0, 7), min_size=1))
def test_the_closest_limit_counts(present: set[int]) -> None:
    quotas = {IN_ORDER[index][0]: {PRODUCER_BYTE_RATE: float(index + 1)} for index in present}
    first = min(present)
    assert Limits(PRODUCER_BYTE_RATE, quotas).of("u", "c") == (IN_ORDER[first][1], first + 1.0)


def test_strangers_and_other_kinds_have_no_limit() -> None:
    limits = Limits(PRODUCER_BYTE_RATE, {BOTH: {PRODUCER_BYTE_RATE: 1.0}})
    assert limits.of("u", "other") is None
    assert not Limits(CONSUMER_BYTE_RATE, {BOTH: {PRODUCER_BYTE_RATE: 1.0}})


def test_limits_are_remembered_for_a_bounded_number_of_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota_limits, "FOUND_MAX", 3)
    limits = Limits(PRODUCER_BYTE_RATE, {(("client-id", None),): {PRODUCER_BYTE_RATE: 1.0}})
    for number in range(20):
        for _ in range(2):
            assert limits.of("u", str(number)) == (("", str(number)), 1.0)
        assert len(limits._found) <= 3


def test_connection_rates_are_by_address() -> None:
    quotas: dict[QuotaKey, dict[str, float]] = {
        (("ip", "10.0.0.1"),): {"connection_creation_rate": 5.0},
        (("ip", None),): {"connection_creation_rate": 2.0},
        (("user", "u"),): {PRODUCER_BYTE_RATE: 1.0},
    }
    assert connection_rates(quotas) == {"10.0.0.1": 5.0, None: 2.0}


class Clock:
    now_ms = START_MS

    def __call__(self) -> int:
        return self.now_ms


def quotas_of(clock: Clock, **limits: float) -> ClientQuotas:
    quotas = ClientQuotas(windows=ELEVEN, mutation_windows=Windows(1, 1000), now_ms=clock)
    quotas.set({(("client-id", "c"),): limits})
    return quotas


def test_a_throttled_fetch_does_not_count() -> None:
    clock = Clock()
    quotas = quotas_of(clock, consumer_byte_rate=100.0)
    assert quotas.consumable_bytes("u", "c") == 1000
    assert quotas.consumable_bytes("u", "d") is None
    assert quotas.consume("u", "c", 1000) == 0
    assert quotas.consume("u", "c", 1000) == 10_000
    assert quotas.consume("u", "c", 0) == 0


def test_producers_share_by_client_id() -> None:
    clock = Clock()
    quotas = quotas_of(clock, producer_byte_rate=100.0)
    assert quotas.produced("u", "c", 1000) == 0
    assert quotas.produced("v", "c", 1000) == 10_000
    assert quotas.produced("v", "d", 10**9) == 0


def test_a_request_rests_for_one_window_at_most() -> None:
    quotas = quotas_of(Clock(), **{REQUEST_PERCENTAGE: 1.0})
    assert quotas.worked("u", "c", 100.0) == 1000


def test_a_changed_limit_keeps_what_was_counted() -> None:
    clock = Clock()
    quotas = quotas_of(clock, producer_byte_rate=100.0)
    quotas.produced("u", "c", 1000)
    quotas.set({(("client-id", "c"),): {PRODUCER_BYTE_RATE: 50.0}})
    assert quotas.produced("u", "c", 0) == 10_000


def test_strict_mutations_are_refused_and_others_only_rest() -> None:
    clock = Clock()
    quotas = quotas_of(clock, **{CONTROLLER_MUTATION_RATE: 2.0})
    strict = quotas.mutations("u", "c", strict=True)
    assert strict is not None
    strict.spend(6)
    assert strict.throttle_ms == 0
    with pytest.raises(ThrottlingQuotaExceeded):
        strict.spend(1)
    assert strict.throttle_ms == 2000
    clock.now_ms += 500
    assert strict.throttle_ms == 1500
    permissive = quotas.mutations("u", "c", strict=False)
    assert permissive is not None
    permissive.spend(1)
    assert permissive.throttle_ms == 2000
    assert quotas.mutations("u", "other", strict=True) is None


def test_meters_are_bounded() -> None:
    meters = Meters(PRODUCER_BYTE_RATE, lambda: Rate(ELEVEN))
    meters.set({(("client-id", None),): {PRODUCER_BYTE_RATE: 1.0}})
    first = meters.of("u", "0")
    for number in range(METERS_MAX + 1):
        meters.of("u", str(number))
    again = meters.of("u", "0")
    assert first is not None
    assert again is not None
    assert again.meter is not first.meter
