"""A streaming query without Spark: its batches, tasks and drivers are function calls, and a crash is an exception.

The code of the sink's protocol runs against a real broker. This module does what Spark would do around it: split the
rows of a batch over tasks, collect their reports, commit, and run the last batch again after a crash, perhaps split
differently. Works with any Kafka.
"""

import itertools
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

from barnabas.client.cluster import Cluster
from barnabas.client.errors import check
from barnabas.client.offsets import LATEST
from barnabas.client.producer import Producer
from barnabas.client.producer_settings import ProducerSettings
from barnabas.client.properties import client_settings
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_listing import open_transactions
from barnabas.client.transaction_log import log_bounds, read_log
from barnabas.records.control import read_marker
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.spark.sink.exactly_once.decision_log import DecisionLog
from barnabas.spark.sink.exactly_once.driver_side import DriverSide
from barnabas.spark.sink.exactly_once.entries import TaskEntry
from barnabas.spark.sink.exactly_once.names import query_names
from barnabas.spark.sink.exactly_once.steps import Hook, no_hook
from barnabas.spark.sink.exactly_once.task_side import Attempt, TaskReport, run_attempt
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

PARTITIONS = 3
TIMEOUT_MS = 60_000


class Crash(BaseException):
    """The process has died. A BaseException, so that no error handling runs."""


def crash_at(step: str, occurrence: int = 1) -> Hook:
    """Crash at the n-th time that this step is reached."""
    left = itertools.count(occurrence - 1, -1)

    def hook(passed: str) -> None:
        if passed == step and next(left) == 0:
            raise Crash(step)

    return hook


def at(step: str, act: Callable[[], object], occurrence: int = 1) -> Hook:
    """Call something else at this step."""
    left = itertools.count(occurrence - 1, -1)

    def hook(passed: str) -> None:
        if passed == step and next(left) == 0:
            act()

    return hook


class SimulatedQuery:
    def __init__(self, bootstrap_servers: str, *, topic_config: Mapping[str, str] | None = None) -> None:
        """With its own topic and query name."""
        self.topic = f"out-{uuid.uuid4().hex[:8]}"
        self.names = query_names(None, uuid.uuid4().hex)
        self.settings = client_settings(
            {
                "bootstrap.servers": bootstrap_servers,
                "retry.backoff.ms": "2",
                "retry.backoff.max.ms": "20",
                "default.api.timeout.ms": "10000",
            }
        )
        self.cluster = Cluster(self.settings)
        self.timeout_ms = TIMEOUT_MS
        self.steps: list[str] = []
        self._create_topic(topic_config or {})

    def close(self) -> None:
        self.cluster.close()

    def run_batch(self, batch_id: int, rows: Sequence[str], tasks: int, hook: Hook = no_hook) -> None:
        """Run a batch without faults, as Spark does."""
        self.commit(batch_id, self.run_tasks(batch_id, rows, tasks, hook), hook)

    def run_tasks(
        self, batch_id: int, rows: Sequence[str], tasks: int, hook: Hook = no_hook, *, attempt: int = 0
    ) -> list[TaskReport]:
        return [self.run_task(batch_id, rows[i::tasks], i, hook, attempt=attempt) for i in range(tasks)]

    def run_task(
        self,
        batch_id: int,
        rows: Iterable[str],
        partition_id: int,
        hook: Hook = no_hook,
        *,
        attempt: int = 0,
        looks: bool = True,
    ) -> TaskReport:
        """`looks`: False for a zombie task that checked long ago."""
        who = Attempt(self.names, batch_id, partition_id, attempt, is_replayable=looks)
        with Cluster(self.settings) as cluster:
            return run_attempt(
                cluster,
                ProducerSettings(),
                who,
                lambda producer: self._write(producer, rows),
                timeout_ms=self.timeout_ms,
                hook=self._noted(hook),
            )

    def commit(self, batch_id: int, reports: Sequence[TaskReport], hook: Hook = no_hook) -> None:
        with Cluster(self.settings) as cluster:
            self._driver(cluster, hook).commit(batch_id, reports)

    def abort(self, batch_id: int) -> None:
        with Cluster(self.settings) as cluster:
            self._driver(cluster, no_hook).abort(batch_id)

    def time_out(self, random: Random | None = None) -> list[str]:
        """Abort open transactions and fence their producers, as a timeout does, without waiting.

        With `random`, only some of them.
        """
        open_ones = sorted(open_transactions(self.cluster, self.names.base))
        chosen = [each for each in open_ones if random is None or random.random() < 0.5]
        for transactional_id in chosen:
            self.abandon(transactional_id)
        return chosen

    def abandon(self, transactional_id: str) -> None:
        Transactions(self.cluster).abandon(transactional_id, timeout_ms=self.timeout_ms)

    def wait_until_stable(self, partition: int) -> None:
        """Wait until no transaction is open, so that read_committed readers reach the end."""
        place = self.topic, partition
        retry = self.cluster.retry_policy()
        while True:
            ends = [self.cluster.offsets([place], LATEST, isolation_level=level)[place].offset for level in (0, 1)]
            if ends[0] == ends[1]:
                return
            assert retry.wait(), f"the last stable offset is {ends[1]}, the end {ends[0]}"

    def committed(self) -> Counter[str]:
        """The committed records, once no transaction is open."""
        for partition in range(PARTITIONS):
            self.wait_until_stable(partition)
        return self.committed_now()

    def committed_now(self) -> Counter[str]:
        """The records that are committed so far, by the markers in the log."""
        values: Counter[str] = Counter()
        for partition in range(PARTITIONS):
            start, end = log_bounds(self.cluster, self.topic, partition)
            pending: dict[int, list[str]] = {}
            for batch in read_log(self.cluster, self.topic, partition, start=start, end=end):
                producer = batch.header.producer_id
                if not batch.header.is_control:
                    found = decode_records(batch, max_bytes=1 << 20)
                    pending.setdefault(producer, []).extend((each.value or b"").decode() for each in found)
                    continue
                ended, marker = pending.pop(producer, []), read_marker(batch)
                if marker is not None and marker.commit:
                    values.update(ended)
        return values

    def decided_entries(self) -> tuple[TaskEntry, ...]:
        log = DecisionLog(self.cluster, self.names)
        last = log.last()
        assert last is not None
        return log.read(last).entries

    def open_transactions(self) -> list[str]:
        return sorted(open_transactions(self.cluster, self.names.base))

    def _create_topic(self, config: Mapping[str, str]) -> None:
        configs = tuple(CreatableTopicConfig(name=name, value=value) for name, value in config.items())
        topic = CreatableTopic(name=self.topic, num_partitions=PARTITIONS, replication_factor=1, configs=configs)
        (made,) = self.cluster.call("create_topics", CreateTopicsRequest(topics=(topic,))).topics
        check(made.error_code, made.error_message)
        self._wait_for_leaders()

    def _wait_for_leaders(self) -> None:
        """The leaders of a new topic may not know yet that they lead it."""
        places = [(self.topic, partition) for partition in range(PARTITIONS)]
        retry = self.cluster.retry_policy()
        while any(found.error != ErrorCode.none for found in self.cluster.offsets(places, LATEST).values()):
            assert retry.wait(), f"{self.topic} has no leaders"

    def _driver(self, cluster: Cluster, hook: Hook) -> DriverSide:
        return DriverSide(cluster, self.names, timeout_ms=self.timeout_ms, hook=self._noted(hook))

    def _noted(self, hook: Hook) -> Hook:
        def noting(step: str) -> None:
            self.steps.append(step)
            hook(step)

        return noting

    def _write(self, producer: Producer, rows: Iterable[str]) -> int:
        """Two batches to each partition, so that a crash can happen between them."""
        rows = list(rows)
        for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
            by_partition: dict[int, list[Record]] = {}
            for row in half:
                record = Record(0, int(time.time() * 1000), row.encode(), row.encode())
                by_partition.setdefault(hash_of(row), []).append(record)
            for partition, records in sorted(by_partition.items()):
                producer.send(self.topic, partition, bytearray(build_batch(records)))
        return len(rows)


def hash_of(row: str) -> int:
    return sum(row.encode()) % PARTITIONS


def rows_of(batch_id: int, count: int = 12) -> list[str]:
    return [f"{batch_id}:{index}" for index in range(count)]
