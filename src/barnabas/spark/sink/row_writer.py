"""Writes the rows of a task: from Arrow to plain columns, to partitions, to batches, to the producer.

Everything is done for a piece of some thousand rows at a time. Rows are ordered by topic and partition, encoded in that
order, and cut where the partition changes; while the brokers write them, the next piece is encoded.
"""

import time
from collections.abc import Iterable
from typing import Any, Final

from barnabas.client.producer import Producer
from barnabas.spark.arrow.encode import BatchLimits, RowTooLarge, encode
from barnabas.spark.arrow.encode_headers import BadHeaders
from barnabas.spark.errors import UserError
from barnabas.spark.sink.routing import Route, Router
from barnabas.spark.sink.rows import Rows, gathered, in_pieces, rows_of

# A piece stays in the processor's caches, and its batches fill a request.
PIECE_BYTES: Final = 1 << 20
PIECE_BYTES_MAX: Final = 8 << 20
# With many partitions, this much for each, so that batches are worth their headers: the Java client's size.
_BYTES_PER_PARTITION: Final = 16 * 1024


class RowWriter:
    """Writes the rows of one task with one producer."""

    def __init__(self, producer: Producer, *, topic: str | None, partitioner_name: str) -> None:
        self._producer = producer
        self._has_topic = topic is not None
        self._router = Router(producer, topic=topic, partitioner_name=partitioner_name)

    def write(self, batches: Iterable[Any]) -> int:
        """Returns how many rows there were. Some may not be acknowledged yet."""
        count = 0
        for batch in gathered(batches, self._piece_bytes):
            now_ms = time.time_ns() // 1_000_000
            rows = rows_of(batch, has_topic=self._has_topic, now_ms=now_ms)
            for piece in in_pieces(rows, self._piece_bytes()):
                self._write_piece(piece, now_ms)
            count += len(rows)
        return count

    def _piece_bytes(self) -> int:
        return min(max(PIECE_BYTES, self._router.partition_count * _BYTES_PER_PARTITION), PIECE_BYTES_MAX)

    def _write_piece(self, rows: Rows, now_ms: int) -> None:
        route = self._router.route(rows)
        try:
            for group, batch in encode(
                rows.columns,
                groups=route.groups,
                order=route.order,
                now_ms=now_ms,
                limits=self._limits(route),
                codec=self._producer.settings.codec,
                level=self._producer.settings.compression_level,
            ):
                topic, partition = route.places[group]
                self._producer.send(topic, partition, batch)
        except RowTooLarge as large:
            raise UserError(
                f"A row takes {large.size_bytes} bytes as a record, which is larger than {large.request_bytes_max}, "
                "the value of the option kafka.max.request.size.",
                "raise kafka.max.request.size, and max.message.bytes of the topic with it, or write smaller values",
            ) from None
        except BadHeaders as bad:
            raise UserError(f"The column headers cannot be written: {bad}.", "remove such entries") from None

    def _limits(self, route: Route) -> BatchLimits:
        """As configured, or as small as one of these topics requires."""
        settings, learnt = self._producer.settings, self._producer.batch_bytes_max
        batch_bytes_max = min(learnt.get(topic, settings.batch_bytes_max) for topic, _ in route.places)
        return BatchLimits(batch_bytes_max=batch_bytes_max, request_bytes_max=settings.request_bytes_max)
