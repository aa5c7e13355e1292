"""The stream's reader for Spark 4.2 and later, which says where a batch begins and how much the trigger wants."""

from typing import Any

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from barnabas.spark.options.values import LONG_MAX
from barnabas.spark.source.stream_reader import StreamReader


class LimitedStreamReader(StreamReader, SupportsTriggerAvailableNow):
    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Only says whether there is a limit: Spark passes it back with each `latestOffset`, and has no limit with
        both a minimum and a maximum for Python. The numbers are taken from the options."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.max_time_per_trigger_ms is not None:
            return ReadMaxRows(LONG_MAX)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The end of the next batch. Spark asks for everything, whatever the options say, with `trigger(once=True)`."""
        stream, _ = self._opened()
        return stream.end_of_batch(start, everything=isinstance(limit, ReadAllAvailable))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        stream, _ = self._opened()
        stream.stop_at_current_end()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        stream, _ = self._opened()
        return stream.latest()
