"""A rate over the last few time windows, measured as in Kafka, so that a quota means the same.

Values are added to the current window; a window that is older than all windows together is reset. The rate is the sum
divided by the time since the oldest window began. Until there are enough windows, the sum is divided by the time that
all of them would span: a new client may use the quota of that whole time at once.
"""

from typing import Final, NamedTuple


class Windows(NamedTuple):
    samples: int
    """`quota.window.num`."""
    size_ms: int
    """`quota.window.size.seconds`."""


class _Sample:
    __slots__ = ("last_event_ms", "start_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_event_ms = now_ms
        self.value = 0.0


MILLISECONDS: Final = 1000


class Rate:
    """Per second. Time may stand still between two calls, but not go back."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms >= self._windows.size_ms:
            sample = self._advance(now_ms)
        sample.value += value
        sample.last_event_ms = now_ms

    def _advance(self, now_ms: int) -> _Sample:
        self._current = (self._current + 1) % (self._windows.samples + 1)
        if self._current == len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def measure(self, now_ms: int) -> float:
        span_ms = self.span_ms(now_ms)
        return sum(sample.value for sample in self._samples) / span_ms * MILLISECONDS

    def span_ms(self, now_ms: int) -> int:
        """The time that the sum is divided by."""
        expiry_ms = self._windows.samples * self._windows.size_ms
        for sample in self._samples:
            if now_ms - sample.last_event_ms >= expiry_ms:
                sample.reset(now_ms)
        elapsed_ms = now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)
        lacking = self._windows.samples - 1 - elapsed_ms // self._windows.size_ms
        return max(elapsed_ms + max(lacking, 0) * self._windows.size_ms, 1)

    def excess_ms(self, limit: float, now_ms: int) -> int:
        """How long to throttle until the rate is back at the limit; 0 if it is not above."""
        rate = self.measure(now_ms)
        return 0 if rate <= limit else round((rate - limit) / limit * self.span_ms(now_ms))
