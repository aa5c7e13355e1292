"""The stream's reader for Spark 4.0 and 4.1, which asks for the end of a batch without saying where it begins.

So it keeps track of that itself. A query that is restarted first asks for the partitions of an empty range at the end
of its last batch, for sources that need to know. One that is new asks for the end of its first batch at once, and for
the start of it afterwards. Later, each batch begins where the one before it has ended.
"""

from typing import Any

from pyspark.sql.datasource import InputPartition

from barnabas.spark.errors import UserError
from barnabas.spark.options.source import SourceOptions
from barnabas.spark.source.stream_reader import StreamReader


class TrackingStreamReader(StreamReader):
    def __init__(self, options: SourceOptions, columns: tuple[str, ...], start_digest: str) -> None:
        super().__init__(options, columns, start_digest)
        self._initial: dict[str, Any] | None = None
        """Of a new query, from its first `latestOffset` on."""
        self._position: dict[str, Any] | None = None
        """Where the next batch begins."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Spark asks in the first batch, also when it repeats that."""
        return super().initialOffset() if self._initial is None else self._initial

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override] # noqa: N802 - as Spark calls it up to 4.1
        """The end of the next batch, within the limits that the options set."""
        if self._position is None:
            self._position = self._initial = super().initialOffset()
        stream, _ = self._opened()
        self._position = stream.end_of_batch(self._position, everything=False)
        return self._position

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        if start == end and self._initial is not None:
            # Spark says only now that the query is not new.
            raise UserError(
                "This source does not work with spark.sql.streaming.triggerAvailableNowWrapper.enabled.",
                "set it to false: trigger(availableNow=True) then reads everything that is there in one batch",
            )
        self._position = end
        return super().partitions(start, end)
