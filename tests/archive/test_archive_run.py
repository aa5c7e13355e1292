"""The archiver against a real broker: what it writes to files, and what it refuses."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from archive_world import (
    archived,
    delete_records,
    delete_topic,
    now_ms,
    rows_of,
    settings,
    transactional,
    values_of,
    write,
    write_transaction,
)

from barnabas.archive.rolling import RollRules
from barnabas.archive.run import Job, Watcher, archive
from barnabas.archive.store import TopicStore
from barnabas.archive.topic_archiver import RecordsDeletedBeforeArchived
from barnabas.history.errors import BadSchema, HistoryError
from barnabas.history.manifest import Manifest, Piece, load
from barnabas.testing import Broker


def numbered(first: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


def test_rows_are_those_of_the_log_and_open_with_pyarrow_and_duckdb(
    broker: Broker, barnabas_topic: str, tmp_path: Path
) -> None:
    broker.create_topic(barnabas_topic, partitions=2)
    stamp = now_ms()
    write(broker.bootstrap_servers, barnabas_topic, numbered(0, 50), key=b"k", headers=[("h", b"1")], timestamp=stamp)
    write(broker.bootstrap_servers, barnabas_topic, [None, b""], partition=1)
    manifest = archived(broker.bootstrap_servers, barnabas_topic, tmp_path)
    assert manifest.tiered_through == {0: 50, 1: 2}
    rows = rows_of(tmp_path, manifest).to_pylist()
    assert [row["offset"] for row in rows] == [*range(50), 0, 1]
    assert [row["value"] for row in rows] == [*numbered(0, 50), None, b""]
    assert (rows[0]["key"], rows[0]["headers"], rows[50]["headers"]) == (b"k", [{"key": "h", "value": b"1"}], None)
    assert int(rows[0]["timestamp"].timestamp() * 1000) == stamp
    (file, _) = manifest.files()
    assert (file.rows, file.timestamp_ms_min, file.timestamp_ms_max) == (50, stamp, stamp)
    counted = duckdb.sql(
        f"SELECT count(*), sum(\"offset\"), min(partition), max(topic) FROM '{tmp_path}/{barnabas_topic}/*.parquet'"
    ).fetchall()
    assert counted == [(52, 50 * 49 // 2 + 1, 0, barnabas_topic)]


def test_a_second_run_goes_on_where_the_first_ended(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    broker.create_topic(barnabas_topic)
    for round_ in range(3):
        write(broker.bootstrap_servers, barnabas_topic, numbered(10 * round_, 10))
        manifest = archived(broker.bootstrap_servers, barnabas_topic, tmp_path)
    again = archived(broker.bootstrap_servers, barnabas_topic, tmp_path)
    assert again == manifest == load(tmp_path, barnabas_topic)
    assert [(piece.start, piece.end) for piece in manifest.files()] == [(0, 10), (10, 20), (20, 30)]
    assert values_of(tmp_path, manifest) == numbered(0, 30)


def test_files_are_cut_by_rows_and_by_bytes(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    broker.create_topic(barnabas_topic)
    for first in range(0, 100, 10):  # a file ends with a batch
        write(broker.bootstrap_servers, barnabas_topic, numbered(first, 10))
    by_rows = archived(broker.bootstrap_servers, barnabas_topic, tmp_path / "a", rules=RollRules(rows=1))
    by_bytes = archived(broker.bootstrap_servers, barnabas_topic, tmp_path / "b", rules=RollRules(bytes=1))
    one_in_memory = archived(broker.bootstrap_servers, barnabas_topic, tmp_path / "c", rules=RollRules(memory_bytes=1))
    for folder, manifest in (("a", by_rows), ("b", by_bytes), ("c", one_in_memory)):
        assert values_of(tmp_path / folder, manifest) == numbered(0, 100)
        assert manifest.tiered_through == {0: 100}
    assert len(list(one_in_memory.files())) == 1


def test_only_committed_records_and_never_past_the_last_stable_offset(
    broker: Broker, barnabas_topic: str, tmp_path: Path
) -> None:
    broker.create_topic(barnabas_topic)
    servers = broker.bootstrap_servers
    write_transaction(servers, barnabas_topic, [b"a", b"b"], commit=True)
    write_transaction(servers, barnabas_topic, [b"no"], commit=False)
    first = archived(servers, barnabas_topic, tmp_path)
    assert values_of(tmp_path, first) == [b"a", b"b"]
    assert first.tiered_through == {0: 5}  # two markers and an aborted record are in between and after
    write_transaction(servers, barnabas_topic, [b"no"], commit=False)
    only_aborted = archived(servers, barnabas_topic, tmp_path)
    assert only_aborted.partitions[0].pieces[1:] == (Piece(5, 7),)
    write(servers, barnabas_topic, [b"c"])
    producer = transactional(servers, f"{barnabas_topic}-open")
    producer.begin_transaction()
    producer.produce(barnabas_topic, b"d", partition=0)
    assert producer.flush(30) == 0
    write(servers, barnabas_topic, [b"e"])
    held = archived(servers, barnabas_topic, tmp_path)
    assert (values_of(tmp_path, held), held.tiered_through) == ([b"a", b"b", b"c"], {0: 8})
    producer.commit_transaction(30)
    done = archived(servers, barnabas_topic, tmp_path)
    assert (values_of(tmp_path, done), done.tiered_through) == ([b"a", b"b", b"c", b"d", b"e"], {0: 11})


def test_typed_columns_and_a_schema_that_changes(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    broker.create_topic(barnabas_topic)
    servers = broker.bootstrap_servers
    write(servers, barnabas_topic, [b'{"id": "x", "n": 1}', b"broken"])
    archived(servers, barnabas_topic, tmp_path, declared="id STRING, n INT")
    write(servers, barnabas_topic, [b'{"id": "y", "n": 2, "w": 0.5}'])
    archived(servers, barnabas_topic, tmp_path, declared="id STRING, n INT, w DOUBLE")
    write(servers, barnabas_topic, [b'{"id": "z", "w": 1}'])
    manifest = archived(servers, barnabas_topic, tmp_path)
    assert [piece.schema for piece in manifest.files()] == [1, 2, 2]
    found = duckdb.sql(
        f"SELECT id, n, w, decode_error IS NULL FROM read_parquet('{tmp_path}/{barnabas_topic}/*.parquet',"
        ' union_by_name=true) ORDER BY "offset"'
    ).fetchall()
    assert found == [("x", 1, None, True), (None, None, None, False), ("y", 2, 0.5, True), ("z", None, 1.0, True)]
    with pytest.raises(BadSchema, match="n is INT in existing files"):
        archived(servers, barnabas_topic, tmp_path, declared="n STRING")
    write(servers, barnabas_topic, [b"{}"])
    assert [piece.schema for piece in archived(servers, barnabas_topic, tmp_path, declared="").files()] == [1, 2, 2, 0]


def test_compacted_topics_are_refused(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    broker.create_topic(barnabas_topic, config={"cleanup.policy": "compact,delete"})
    with pytest.raises(HistoryError, match="is compacted"):
        archived(broker.bootstrap_servers, barnabas_topic, tmp_path)


def test_a_missing_topic_is_said_with_the_nearest(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    broker.create_topic(barnabas_topic)
    with pytest.raises(HistoryError, match="There is no topic") as caught:
        archived(broker.bootstrap_servers, f"{barnabas_topic}x", tmp_path)
    assert barnabas_topic in caught.value.hint


def test_a_topic_made_again_is_another_topic(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    broker.create_topic(barnabas_topic)
    write(broker.bootstrap_servers, barnabas_topic, [b"old"])
    old = archived(broker.bootstrap_servers, barnabas_topic, tmp_path)
    delete_topic(broker.bootstrap_servers, barnabas_topic)
    broker.create_topic(barnabas_topic)
    write(broker.bootstrap_servers, barnabas_topic, [b"new", b"new"])
    with pytest.raises(HistoryError, match="created again"):
        archived(broker.bootstrap_servers, barnabas_topic, tmp_path)
    assert load(tmp_path, barnabas_topic) == old


def test_a_gap_is_reported_and_recorded_only_when_asked(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    broker.create_topic(barnabas_topic)
    servers = broker.bootstrap_servers
    write(servers, barnabas_topic, numbered(0, 3))
    delete_records(servers, barnabas_topic, 1)
    first = archived(servers, barnabas_topic, tmp_path)
    assert (first.partitions[0].start, first.tiered_through) == (1, {0: 3})
    write(servers, barnabas_topic, numbered(3, 7))
    delete_records(servers, barnabas_topic, 8)
    with pytest.raises(RecordsDeletedBeforeArchived, match="begins at 8, but the history ends at 3"):
        archived(servers, barnabas_topic, tmp_path)
    assert load(tmp_path, barnabas_topic) == first
    after = archived(servers, barnabas_topic, tmp_path, may_lose=True)
    assert after.partitions[0].pieces[1] == Piece(3, 8, is_lost=True)
    assert values_of(tmp_path, after) == [b"1", b"2", b"8", b"9"]


def test_one_archiver_at_a_time(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    broker.create_topic(barnabas_topic)
    with (
        TopicStore(tmp_path, barnabas_topic).archiving(),
        pytest.raises(HistoryError, match="Another archiver"),
    ):
        archived(broker.bootstrap_servers, barnabas_topic, tmp_path)


def test_one_topic_that_fails_does_not_stop_the_others(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    broker.create_topic(barnabas_topic)
    write(broker.bootstrap_servers, barnabas_topic, [b"a"])
    failed: list[str] = []
    watcher = Watcher(on_failure=lambda topic, failure: failed.append(topic))
    with pytest.raises(HistoryError, match="There is no topic nowhere"):
        archive(settings(broker.bootstrap_servers), Job(["nowhere", barnabas_topic], tmp_path), watcher)
    assert failed == ["nowhere"]
    assert load(tmp_path, barnabas_topic).tiered_through == {0: 1}


def _following(
    broker: Broker, topic: str, history: Path, between: list[Callable[[], None]], rules: RollRules
) -> Manifest:
    """Run with --follow; an action runs after each round, and after the last one the archiver stops."""
    left = list(between)
    is_over = False

    def sleep(seconds: float) -> None:
        nonlocal is_over
        if left:
            left.pop(0)()
        else:
            is_over = True

    watcher = Watcher(should_stop=lambda: is_over, sleep=sleep)
    return archived(broker.bootstrap_servers, topic, history, watcher, follow=True, rules=rules)


def test_following_a_file_grows_until_it_is_old_or_the_archiver_stops(
    broker: Broker, barnabas_topic: str, tmp_path: Path
) -> None:
    broker.create_topic(barnabas_topic)
    seen: list[int] = []

    def look_and_write(first: int) -> Callable[[], None]:
        def act() -> None:
            seen.append(load(tmp_path, barnabas_topic).tiered_through.get(0, 0))
            write(broker.bootstrap_servers, barnabas_topic, numbered(first, 5))

        return act

    rounds = [look_and_write(0), look_and_write(5), look_and_write(10), lambda: None]
    patient = _following(broker, barnabas_topic, tmp_path, rounds, RollRules(age_s=1e9))
    assert seen == [0, 0, 0]
    assert [(piece.start, piece.end) for piece in patient.files()] == [(0, 15)]
    hasty = _following(broker, barnabas_topic, tmp_path, [look_and_write(15), lambda: None], RollRules(age_s=0))
    assert [(piece.start, piece.end) for piece in hasty.files()] == [(0, 15), (15, 20)]
    assert values_of(tmp_path, hasty) == numbered(0, 20)


def test_partitions_that_are_added_later_are_archived_too(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    from confluent_kafka.admin import AdminClient, NewPartitions

    broker.create_topic(barnabas_topic)
    archived(broker.bootstrap_servers, barnabas_topic, tmp_path)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for future in admin.create_partitions([NewPartitions(barnabas_topic, 2)]).values():
        future.result(30)
    write(broker.bootstrap_servers, barnabas_topic, [b"x"], partition=1)
    assert archived(broker.bootstrap_servers, barnabas_topic, tmp_path).tiered_through == {0: 0, 1: 1}


def test_files_say_where_offsets_lie(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    """The statistics by which a reader skips row groups: offsets, timestamps and typed columns."""
    import pyarrow.parquet as pq

    broker.create_topic(barnabas_topic)
    write(broker.bootstrap_servers, barnabas_topic, [b'{"n": 4}', b'{"n": 9}'])
    manifest = archived(broker.bootstrap_servers, barnabas_topic, tmp_path, declared="n INT")
    (piece,) = manifest.files()
    assert piece.file is not None
    group = pq.ParquetFile(tmp_path / barnabas_topic / piece.file).metadata.row_group(0)
    found = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
    assert (found["offset"].statistics.min, found["offset"].statistics.max) == (0, 1)
    assert (found["n"].statistics.min, found["n"].statistics.max) == (4, 9)
    assert "RLE_DICTIONARY" not in found["value"].encodings
    assert rows_of(tmp_path, manifest).schema.field("timestamp").type == pa.timestamp("us", tz="UTC")


def test_the_archiver_needs_no_pyspark() -> None:
    import subprocess
    import sys

    program = "import sys, barnabas.archive.run, barnabas.archive.verify; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0
