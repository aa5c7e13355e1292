"""`python -m bench.spark.decode`: record batches into Arrow, alone, on one core; no broker and no Spark.

The speed depends on the layout of records: their size, how many a batch has (a Java producer fills 16 KB, librdkafka up
to a megabyte), whether they all have the same length (then the decoder need not step from one to the next), codec and
columns. Time is CPU time of this thread, the best of several rounds, so that other load on the machine matters little.
"""

import random
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from barnabas.records.compression import Codec
from barnabas.records.record import Header, Record, build_batch
from barnabas.spark.arrow.decode import decode

_COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
_ROUNDS: Final = 30
_LOG_BYTES: Final = 4 << 20
_TIMESTAMP_MS: Final = 1_700_000_000_000
_RECORDS_PER_MS: Final = 20


class Layout(NamedTuple):
    name: str
    value_bytes: int = 100
    batch_bytes: int = 16 << 10
    varies_by: int = 0
    with_keys: bool = False
    codec: Codec = Codec.NONE
    headers: tuple[Header, ...] = ()
    columns: tuple[str, ...] = _COLUMNS


LAYOUTS: Final = (
    Layout("100 B, batches of 16 KB"),
    Layout("100 B, batches of 1 MB", batch_bytes=1 << 20),
    Layout("100 B with keys", with_keys=True),
    Layout("60 to 140 B with keys, batches of 16 KB", varies_by=40, with_keys=True),
    Layout("60 to 140 B with keys, batches of 1 MB", varies_by=40, with_keys=True, batch_bytes=1 << 20),
    Layout("1 KB, batches of 16 KB", value_bytes=1000),
    Layout("1 KB, batches of 1 MB", value_bytes=1000, batch_bytes=1 << 20),
    Layout("100 B, one record in a batch", batch_bytes=1),
    Layout("100 B, lz4", codec=Codec.LZ4),
    Layout("100 B, zstd", codec=Codec.ZSTD),
    Layout("100 B with a header", headers=(Header("trace", b"x" * 16),), columns=(*_COLUMNS, "headers")),
    Layout("100 B, only values", columns=("value",)),
    Layout("100 B, only offsets", columns=("offset",)),
)


def main() -> None:
    print(f"{'':45}{'ns/record':>12}{'M records/s':>13}{'MB/s':>8}")
    for layout in LAYOUTS:
        data, count = _log(layout)
        cost_s = _best_s(
            lambda data=data, count=count, layout=layout: decode(  # type: ignore[misc]  # bound, not captured
                data, topic="bench", partition=0, columns=layout.columns, first_offset=0, end_offset=count
            )
        )
        print(
            f"{layout.name:45}{cost_s / count * 1e9:12.1f}{count / cost_s / 1e6:13.2f}{len(data) / cost_s / 1e6:8.0f}",
            flush=True,
        )


def _log(layout: Layout) -> tuple[bytes, int]:
    """Batches of about four megabytes, uncompressed; and how many records they have."""
    rng = random.Random(layout.name)
    per_batch = max(layout.batch_bytes // layout.value_bytes, 1)
    batches = []
    offset = 0
    while offset * layout.value_bytes < _LOG_BYTES:
        records = [_record(layout, rng, offset + index, index) for index in range(per_batch)]
        batches.append(build_batch(records, base_offset=offset, codec=layout.codec))
        offset += per_batch
    return b"".join(batches), offset


def _record(layout: Layout, rng: random.Random, number: int, index: int) -> Record:
    size = layout.value_bytes + rng.randint(-layout.varies_by, layout.varies_by)
    value = rng.randbytes(16) * (size // 16 + 1)
    return Record(
        timestamp=_TIMESTAMP_MS + index // _RECORDS_PER_MS,
        key=b"key-%010d" % number if layout.with_keys else None,
        value=value[:size],
        headers=layout.headers,
    )


def _best_s(run: Callable[[], object]) -> float:
    times = []
    for _ in range(_ROUNDS):
        started = time.thread_time()
        run()
        times.append(time.thread_time() - started)
    return min(times)


if __name__ == "__main__":
    main()
