"""A streaming query without Spark, for tests of the source alone."""

import json
from collections.abc import Mapping
from typing import Any

from barnabas.spark.options.source import stream_options
from barnabas.spark.source.read import read_ranges
from barnabas.spark.source.stream import Stream


class Query:
    """A streaming query as Spark runs it: the end offset is stored before the batch runs."""

    def __init__(self, bootstrap: str, topic: str, **options: str) -> None:
        self._given = {
            "kafka.bootstrap.servers": bootstrap,
            "subscribe": topic,
            "fetchOffset.retryIntervalMs": "0",
            **options,
        }
        if "subscribePattern" in options:
            del self._given["subscribe"]
        self.log: list[str] = []
        """Ends of batches; all but the last are done."""
        self.is_done = True
        self.rows: list[bytes] = []
        self.now_s = 0.0
        self.stream = Stream(stream_options(self._given))
        self.start()

    def start(self, **options: str) -> None:
        """A new process: only the offset log is left."""
        self.close()
        self._given |= options
        self.options = stream_options(self._given)
        self.stream = Stream(self.options, now_s=lambda: self.now_s)

    def close(self) -> None:
        self.stream.close()

    def plan(self, *, everything: bool = False) -> bool:
        """Store the end of the next batch. Returns whether there is one."""
        start = self.log[-1] if self.log else json.dumps(self.stream.begin().as_json())
        options = self.options
        limited = options.max_offsets_per_trigger or options.min_offsets_per_trigger or options.max_time_per_trigger_ms
        end = json.dumps(self.stream.end_of_batch(json.loads(start), everything=everything or not limited))
        if end == start and self.log:  # a first batch is run even if it is empty
            return False
        self.log.append(end)
        self.is_done = False
        return True

    def run(self) -> list[bytes]:
        """The rows of the last stored batch, now and when it is run again."""
        before = self.log[-2] if len(self.log) > 1 else json.dumps(self.stream.begin().as_json())
        tasks = self.stream.tasks(json.loads(before), json.loads(self.log[-1]))
        rows = [
            value.as_py()
            for ranges in tasks
            for batch in read_ranges(ranges, self.options, ("value",))
            for value in batch.column(0)
        ]
        self.is_done = True
        return rows

    def trigger(self, *, everything: bool = False) -> list[bytes]:
        """One trigger: what it read."""
        if self.is_done and not self.plan(everything=everything):
            return []
        rows = self.run()
        self.rows += rows
        return rows

    def drain(self) -> list[list[bytes]]:
        batches = []
        while rows := self.trigger():
            batches.append(rows)
        return batches

    def offsets(self) -> Mapping[str, Any]:
        offsets: Mapping[str, Any] = json.loads(self.log[-1])
        return {topic: partitions for topic, partitions in offsets.items() if not topic.startswith("$")}
