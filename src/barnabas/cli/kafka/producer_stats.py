"""What `kafka-producer-perf-test` counts: latencies in whole milliseconds, a line per interval, a line at the end."""

import time
from collections.abc import Sequence

_SAMPLES_MAX = 500_000
_PERCENTILES = (0.5, 0.95, 0.99, 0.999)
_MB = 1024.0 * 1024.0


class ProducerStats:
    def __init__(self, records: int, reporting_interval_ms: int, *, steady: bool = False) -> None:
        self._started_s = time.monotonic()
        self._steady = steady
        self._interval_s = reporting_interval_ms / 1000
        self._sampling = max(1, records // _SAMPLES_MAX)
        self._latencies_ms: list[int] = []
        self._count = 0
        self._bytes = 0
        self._latency_sum_ms = 0
        self._latency_max_ms = 0
        self._window_started_s = self._started_s
        self._window_count = 0
        self._window_bytes = 0
        self._window_sum_ms = 0
        self._window_max_ms = 0

    def record(self, latency_ms: int, size: int, now_s: float) -> None:
        if self._count % self._sampling == 0:
            self._latencies_ms.append(latency_ms)
        self._count += 1
        self._bytes += size
        self._latency_sum_ms += latency_ms
        self._latency_max_ms = max(self._latency_max_ms, latency_ms)
        self._window_count += 1
        self._window_bytes += size
        self._window_sum_ms += latency_ms
        self._window_max_ms = max(self._window_max_ms, latency_ms)
        if now_s - self._window_started_s >= self._interval_s:
            self._print_window(now_s)
            self._open_window(now_s)

    def print_total(self) -> None:
        elapsed_s = max(time.monotonic() - self._started_s, 1e-9)
        ranks = " ".join(
            f"{value} ms {name},"
            for value, name in zip(percentiles(self._latencies_ms), ("50th", "95th", "99th", "99.9th"), strict=True)
        )
        print(
            f"{self._count}{' steady state' if self._steady else ''} records sent, "
            f"{self._count / elapsed_s:f} records/sec ({self._bytes / elapsed_s / _MB:.2f} MB/sec), "
            f"{self._latency_sum_ms / max(self._count, 1):.2f} ms avg latency, "
            f"{self._latency_max_ms:.2f} ms max latency, {ranks.rstrip(',')}."
        )

    def _open_window(self, now_s: float) -> None:
        self._window_started_s = now_s
        self._window_count = 0
        self._window_bytes = 0
        self._window_sum_ms = 0
        self._window_max_ms = 0

    def _print_window(self, now_s: float) -> None:
        elapsed_s = now_s - self._window_started_s
        print(
            f"{self._window_count} records sent, {self._window_count / elapsed_s:.1f} records/sec "
            f"({self._window_bytes / elapsed_s / _MB:.2f} MB/sec), "
            f"{self._window_sum_ms / self._window_count:.1f} ms avg latency, {self._window_max_ms:.1f} ms max latency.",
            flush=True,
        )


def percentiles(latencies_ms: Sequence[int]) -> list[int]:
    ordered = sorted(latencies_ms)
    return [ordered[min(int(rank * len(ordered)), len(ordered) - 1)] if ordered else 0 for rank in _PERCENTILES]
