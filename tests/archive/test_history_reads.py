"""Batch reads with option("history"): files and log meet at one offset. No JVM: tests call what Spark would call."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from archive_world import archived, delete_records, delete_topic, now_ms, write, write_transaction

from barnabas.archive.retention import retain
from barnabas.archive.rolling import RollRules
from barnabas.spark.errors import UserError
from barnabas.spark.options.source import batch_options, stream_options
from barnabas.spark.query.data_loss import DataLost
from barnabas.spark.source.batch import tasks
from barnabas.spark.source.history import FileRange
from barnabas.spark.source.predicate import Predicate
from barnabas.spark.source.read import close_idle, read_ranges
from barnabas.testing import Broker


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> Iterator[None]:
    yield
    close_idle()


class Read:
    def __init__(self, broker: Broker, topic: str, history: Path) -> None:
        self.broker, self.topic, self.history = broker, topic, history
        self.servers = broker.bootstrap_servers

    def options(self, **more: str) -> dict[str, str]:
        base = {"kafka.bootstrap.servers": self.servers, "subscribe": self.topic, "history": str(self.history)}
        if "assign" in more:
            del base["subscribe"]
        return {**base, "fetchOffset.retryIntervalMs": "0", **more}

    def ranges(self, predicate: Predicate | None = None, **more: str) -> list[tuple[int, int, bool]]:
        found = [one for task in tasks(batch_options(self.options(**more)), predicate) for one in task]
        return [(one.start, one.end, isinstance(one, FileRange)) for one in found]

    def rows(self, *columns: str, **more: str) -> list[dict[str, Any]]:
        options = batch_options(self.options(**more))
        batches = [batch for task in tasks(options) for batch in read_ranges(task, options, columns)]
        return list(pa.Table.from_batches(batches).to_pylist()) if batches else []

    def values(self, **more: str) -> list[bytes]:
        return [row["value"] for row in self.rows("offset", "value", **more)]


@pytest.fixture
def read(broker: Broker, barnabas_topic: str, tmp_path: Path) -> Read:
    """Offsets 0 to 9 archived in two files, 0 to 6 deleted from the log, 10 to 14 only in the log."""
    broker.create_topic(barnabas_topic)
    servers = broker.bootstrap_servers
    for first in (0, 5):
        write(servers, barnabas_topic, [b"%d" % number for number in range(first, first + 5)])
        archived(servers, barnabas_topic, tmp_path)
    write(servers, barnabas_topic, [b"%d" % number for number in range(10, 15)])
    delete_records(servers, barnabas_topic, 7)
    return Read(broker, barnabas_topic, tmp_path)


def numbered(first: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, end)]


def test_files_and_log_meet_at_one_offset(read: Read) -> None:
    assert read.ranges() == [(0, 5, True), (5, 10, True), (10, 15, False)]
    assert read.values() == numbered(0, 15)
    archived(read.servers, read.topic, read.history, rules=RollRules(rows=1))
    assert read.values() == numbered(0, 15)


EDGES = [(start, end) for start in (0, 3, 5, 8, 10, 12, 15) for end in (3, 5, 9, 10, 13, 15) if start <= end]


@pytest.mark.parametrize(("start", "end"), EDGES)
def test_any_range(read: Read, start: int, end: int) -> None:
    given = {
        "startingOffsets": json.dumps({read.topic: {"0": start}}),
        "endingOffsets": json.dumps({read.topic: {"0": end}}),
    }
    assert read.values(**given) == numbered(start, end)


def test_the_beginning_is_that_of_the_history(read: Read) -> None:
    assert read.values(startingOffsets=json.dumps({read.topic: {"0": -2}})) == numbered(0, 15)
    assert read.values(assign=json.dumps({read.topic: [0]})) == numbered(0, 15)
    assert read.values(minPartitions="7") == numbered(0, 15)


def test_the_history_may_forget_what_the_log_still_has(read: Read) -> None:
    delete_all = retain(read.history, read.topic, older_than_ms=now_ms() + 1000, bytes_max=None)
    assert delete_all[0].files == 2
    assert read.ranges() == [(7, 15, False)]
    with pytest.raises(DataLost):
        read.ranges(startingOffsets=json.dumps({read.topic: {"0": 3}}))


def test_what_neither_has_is_lost(read: Read) -> None:
    delete_records(read.servers, read.topic, 12)
    with pytest.raises(DataLost):
        read.ranges()
    assert read.values(failOnDataLoss="false") == [*numbered(0, 10), *numbered(12, 15)]
    archived(read.servers, read.topic, read.history, may_lose=True)
    with pytest.raises(DataLost):
        read.ranges()
    assert read.values(failOnDataLoss="false") == [*numbered(0, 10), *numbered(12, 15)]


def test_only_committed_records_on_both_sides(read: Read) -> None:
    write_transaction(read.servers, read.topic, [b"no"], commit=False)
    write_transaction(read.servers, read.topic, [b"15"], commit=True)
    assert read.values() == numbered(0, 16)
    archived(read.servers, read.topic, read.history)
    assert read.values() == numbered(0, 16)
    with pytest.raises(UserError, match="committed records only"):
        read.ranges(**{"kafka.isolation.level": "read_uncommitted"})


def test_times_filter_rows_of_files_too(read: Read) -> None:
    predicate = Predicate()
    predicate.since_ms = now_ms() - 60_000
    assert read.ranges(predicate) == [(0, 5, True), (5, 10, True), (10, 15, False)]
    options = batch_options(read.options())
    (task, *_) = tasks(options)
    late = (now_ms() + 60_000, None)
    assert not list(read_ranges(task, options, ("offset",), timestamp_ms=late))


def test_typed_columns_come_from_both_sides(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    broker.create_topic(barnabas_topic)
    read = Read(broker, barnabas_topic, tmp_path)
    write(read.servers, barnabas_topic, [b'{"a": 1}'])
    archived(read.servers, barnabas_topic, tmp_path)
    write(read.servers, barnabas_topic, [b'{"a": 2, "b": "x"}'])
    archived(read.servers, barnabas_topic, tmp_path, declared="a INT")
    write(read.servers, barnabas_topic, [b'{"a": 3, "b": "y"}'])
    archived(read.servers, barnabas_topic, tmp_path, declared="b STRING")
    write(read.servers, barnabas_topic, [b'{"a": 4, "b": "z"}', b"?"])
    rows = read.rows("b", "a", "offset", "decode_error")
    assert [(row["offset"], row["a"], row["b"]) for row in rows] == [
        (0, None, None),
        (1, 2, None),
        (2, None, "y"),
        (3, None, "z"),
        (4, None, None),
    ]
    assert [row["decode_error"] is None for row in rows] == [True, True, True, True, False]
    archived(read.servers, barnabas_topic, tmp_path)
    assert read.rows("b", "a", "offset", "decode_error") == rows


def test_what_cannot_be_read_is_refused_in_words(read: Read, tmp_path_factory: pytest.TempPathFactory) -> None:
    nowhere = str(tmp_path_factory.mktemp("nowhere"))
    for given, said in (
        ({"history": nowhere}, "There is no history"),
        ({"startingTimestamp": "1"}, "startingTimestamp cannot be used with history"),
        ({"endingTimestamp": "1"}, "endingTimestamp cannot be used with history"),
    ):
        with pytest.raises(UserError, match=said):
            read.ranges(**given)
    options = read.options(subscribePattern="x")
    del options["subscribe"]
    with pytest.raises(UserError, match="does not work with subscribePattern"):
        batch_options(options)
    with pytest.raises(UserError, match="A stream reads only the log"):
        stream_options(read.options())


def test_a_topic_made_again_does_not_get_the_old_history(read: Read) -> None:
    delete_topic(read.servers, read.topic)
    read.broker.create_topic(read.topic)
    with pytest.raises(UserError, match="created again"):
        read.ranges()


def test_a_file_that_is_gone_is_said(read: Read) -> None:
    options = batch_options(read.options())
    (task, *_) = tasks(options)
    for file in (read.history / read.topic).glob("*.parquet"):
        file.unlink()
    with pytest.raises(UserError, match="does not exist"):
        list(read_ranges(task, options, ("offset",)))
