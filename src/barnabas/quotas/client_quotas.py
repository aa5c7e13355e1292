"""The quotas in force, and each client's usage.

A broker without quotas has no such object, and does not measure requests. Bytes are counted when they were received or
are about to be sent. A client above its quota is told how long it is throttled (`throttle_time_ms`), and its requests
are not read for that time (KIP-219). A fetch above the quota gets an empty answer, and its bytes do not count.
"""

from collections.abc import Callable, Mapping
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from barnabas.quotas.limits import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Limits,
    QuotaKey,
    Share,
)
from barnabas.quotas.rate import MILLISECONDS, Rate, Windows
from barnabas.quotas.token_bucket import TokenBucket
from barnabas.wire.errors import ThrottlingQuotaExceeded

# Clients choose their client ids, so there may be any number. An entry takes about a kilobyte.
METERS_MAX: Final = 20_000

M = TypeVar("M", Rate, TokenBucket)


class Metered(NamedTuple, Generic[M]):
    meter: M
    limit: float


class Meters(Generic[M]):
    """One meter for each share of a limit, created on first use; at the maximum the least recently used is dropped."""

    def __init__(self, kind: str, make: Callable[[], M]) -> None:
        self._kind = kind
        self._make: Callable[[], M] = make
        self._meters: dict[Share, M] = {}
        self._limits = Limits(kind, {})

    def set(self, quotas: Mapping[QuotaKey, Mapping[str, float]]) -> None:
        """Replace the limits; usage counted so far is kept."""
        self._limits = Limits(self._kind, quotas)

    def of(self, user: str, client_id: str) -> Metered[M] | None:
        if not self._limits or (found := self._limits.of(user, client_id)) is None:
            return None
        share, limit = found
        meter = self._meters.pop(share, None)
        if meter is None:
            meter = self._make()
            if len(self._meters) >= METERS_MAX:
                del self._meters[next(iter(self._meters))]
        self._meters[share] = meter
        return Metered(meter, limit)


class MutationQuota(Protocol):
    """How many partitions a request may create and delete."""

    def spend(self, partitions: int) -> None:
        """Raises ThrottlingQuotaExceeded if the client understands that error."""

    @property
    def throttle_ms(self) -> int: ...


class BucketQuota:
    """Strict: a request is refused while the bucket is below zero. Older clients do not know the error: they wait."""

    def __init__(self, bucket: Metered[TokenBucket], now_ms: Callable[[], int], *, strict: bool) -> None:
        self._bucket, self._limit = bucket
        self._now_ms = now_ms
        self._strict = strict
        self._free_ms = 0

    def spend(self, partitions: int) -> None:
        now_ms = self._now_ms()
        if self._strict:
            debt_ms = self._bucket.debt_ms(self._limit, now_ms)
            if debt_ms:
                self._free_ms = now_ms + debt_ms
                raise ThrottlingQuotaExceeded("The throttling quota has been exceeded.")
            self._bucket.spend(partitions, self._limit, now_ms)
        else:
            self._bucket.spend(partitions, self._limit, now_ms)
            self._free_ms = now_ms + self._bucket.debt_ms(self._limit, now_ms)

    @property
    def throttle_ms(self) -> int:
        return max(0, self._free_ms - self._now_ms())


class ClientQuotas:
    def __init__(self, *, windows: Windows, mutation_windows: Windows, now_ms: Callable[[], int]) -> None:
        self._windows = windows
        self._now_ms = now_ms
        self._produced = Meters(PRODUCER_BYTE_RATE, lambda: Rate(windows))
        self._consumed = Meters(CONSUMER_BYTE_RATE, lambda: Rate(windows))
        self._requests = Meters(REQUEST_PERCENTAGE, lambda: Rate(windows))
        self._mutations = Meters(CONTROLLER_MUTATION_RATE, lambda: TokenBucket(mutation_windows))

    def set(self, quotas: Mapping[QuotaKey, Mapping[str, float]]) -> None:
        for meters in (self._produced, self._consumed, self._requests, self._mutations):
            meters.set(quotas)

    def produced(self, user: str, client_id: str, size: int) -> int:
        """Count received bytes. Returns for how many milliseconds to throttle the client."""
        found = self._produced.of(user, client_id)
        if found is None:
            return 0
        now_ms = self._now_ms()
        found.meter.record(size, now_ms)
        return found.meter.excess_ms(found.limit, now_ms)

    def consume(self, user: str, client_id: str, size: int) -> int:
        """Count bytes about to be sent. If the client must be throttled, they are not counted and must not be sent."""
        found = self._consumed.of(user, client_id)
        if found is None:
            return 0
        now_ms = self._now_ms()
        found.meter.record(size, now_ms)
        excess_ms = found.meter.excess_ms(found.limit, now_ms)
        if excess_ms:
            found.meter.record(-size, now_ms)
        return excess_ms

    def consumable_bytes(self, user: str, client_id: str) -> int | None:
        """The largest answer to a fetch: one above the quota of all windows together could never be sent."""
        found = self._consumed.of(user, client_id)
        if found is None:
            return None
        return int(found.limit * (self._windows.samples - 1) * self._windows.size_ms / MILLISECONDS)

    def worked(self, user: str, client_id: str, seconds: float) -> int:
        """Count the time spent on a request, as a percentage of a thread. Throttles for at most one window."""
        found = self._requests.of(user, client_id)
        if found is None:
            return 0
        now_ms = self._now_ms()
        found.meter.record(seconds * 100, now_ms)
        return min(found.meter.excess_ms(found.limit, now_ms), self._windows.size_ms)

    def mutations(self, user: str, client_id: str, *, strict: bool) -> MutationQuota | None:
        found = self._mutations.of(user, client_id)
        return None if found is None else BucketQuota(found, self._now_ms, strict=strict)
