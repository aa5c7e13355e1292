"""How far a query is behind, by partition: in offsets and in time. Pure: without a broker, Spark or a clock.

- *lag*: offsets between what the finished batches have read and the end of the log (the last stable offset, where the
  query reads committed records only). Offsets, not records: transaction markers and compaction leave holes.
- *rates*: how fast the log grows, how fast the query reads. Its position moves once per batch, so a rate is
  measured over a window of several batches, and is unknown before the first.
- *catch up*: lag / (out - in). Infinite if the query is not faster than its producers.
- *age*: how long ago the oldest unread record was written.
- *headroom*: offsets between the position and the start of the log. Negative: retention has overtaken the query.
"""

import math
from collections import deque
from dataclasses import dataclass

WINDOW_S_MIN = 60.0
"""Long enough to smooth triggers of a few seconds, short enough for an alert."""
BATCHES_PER_WINDOW = 3
"""With rare or long batches the window grows, because the rate would be 0 between two of them."""
_SAMPLES_MAX = 256
"""Per series: measurements come every few seconds and with each batch; above this, every second one is dropped."""


class RateWindow:
    """The rate of a growing number, over a window of time."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, now_s: float, value: int, window_s: float) -> None:
        samples = self._samples
        if samples and value < samples[-1][1]:  # the topic was created again, with new offsets
            samples.clear()
        if samples and now_s <= samples[-1][0]:
            samples[-1] = (samples[-1][0], value)
            return
        samples.append((now_s, value))
        # One sample from before the window stays, so that the window is covered from its beginning.
        while len(samples) > 2 and samples[1][0] <= now_s - window_s:
            samples.popleft()
        if len(samples) > _SAMPLES_MAX:
            self._samples = deque([*list(samples)[:-1:2], samples[-1]])

    @property
    def per_second(self) -> float | None:
        """None until there are two measurements."""
        if len(self._samples) < 2:
            return None
        (first_s, first), (last_s, last) = self._samples[0], self._samples[-1]
        return (last - first) / (last_s - first_s)


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """Invariant: lag >= 0. `position` may be below `log_start` (overtaken) or beyond `log_end` (created again)."""

    topic: str
    partition: int
    position: int
    log_start: int
    log_end: int
    in_per_second: float | None
    out_per_second: float | None
    oldest_unread_ms: int | None

    @property
    def lag(self) -> int:
        return max(0, self.log_end - self.position)

    @property
    def headroom(self) -> int:
        return self.position - self.log_start

    @property
    def catch_up_s(self) -> float | None:
        return catch_up_s(self.lag, self.in_per_second, self.out_per_second)

    def age_s(self, now_ms: int) -> float | None:
        """0 without a backlog; None if the record's timestamp is unknown."""
        if self.lag == 0:
            return 0.0
        return None if self.oldest_unread_ms is None else max(0, now_ms - self.oldest_unread_ms) / 1000


class PartitionMeter:
    """Keeps the measurements of a partition that its rates need."""

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self._ends = RateWindow()
        self._positions = RateWindow()

    def measure(
        self,
        now_s: float,
        *,
        position: int,
        log_start: int,
        log_end: int,
        oldest_unread_ms: int | None,
        pace_s: float | None,
    ) -> PartitionLag:
        """`pace_s`: the time from one batch to the next; None before the first is done."""
        window_s = max(WINDOW_S_MIN, BATCHES_PER_WINDOW * (pace_s or 0.0))
        self._ends.add(now_s, log_end, window_s)
        self._positions.add(now_s, position, window_s)
        return PartitionLag(
            self.topic,
            self.partition,
            position,
            log_start,
            log_end,
            self._ends.per_second,
            None if pace_s is None else self._positions.per_second,
            oldest_unread_ms,
        )


def catch_up_s(lag: int, in_per_second: float | None, out_per_second: float | None) -> float | None:
    """None while a rate is unknown; infinite if the backlog does not shrink."""
    if lag == 0:
        return 0.0
    if in_per_second is None or out_per_second is None:
        return None
    gain = out_per_second - in_per_second
    return lag / gain if gain > 0 else math.inf


def total_rate(rates: list[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None
