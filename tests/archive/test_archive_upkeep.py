"""Verify and retain."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from archive_world import archived, delete_records, now_ms, settings, values_of, write, write_transaction

from barnabas.archive.retention import retain
from barnabas.archive.verify import Finding, verify
from barnabas.client.cluster import Cluster
from barnabas.history.errors import NoHistory
from barnabas.history.manifest import Manifest, load
from barnabas.testing import Broker


def findings(broker: Broker, topic: str, history: Path) -> list[Finding]:
    with Cluster(settings(broker.bootstrap_servers)) as cluster:
        return list(verify(history, topic, cluster))


def made(broker: Broker, topic: str, history: Path) -> Manifest:
    broker.create_topic(topic)
    write(broker.bootstrap_servers, topic, [b"a", b"b"], key=b"k", headers=[("h", None)])
    archived(broker.bootstrap_servers, topic, history)
    write_transaction(broker.bootstrap_servers, topic, [b"no"], commit=False)
    archived(broker.bootstrap_servers, topic, history)
    write(broker.bootstrap_servers, topic, [b"c", b"d"])
    return archived(broker.bootstrap_servers, topic, history)


def test_what_is_equal_has_no_problem(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    made(broker, barnabas_topic, tmp_path)
    found = findings(broker, barnabas_topic, tmp_path)
    assert [(one.start, one.end, one.rows, one.compared, one.problem) for one in found] == [
        (0, 2, 2, 2, None),
        (2, 4, 0, 2, None),
        (4, 6, 2, 2, None),
    ]


def test_what_the_log_has_deleted_is_not_compared(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    made(broker, barnabas_topic, tmp_path)
    delete_records(broker.bootstrap_servers, barnabas_topic, 5)
    found = findings(broker, barnabas_topic, tmp_path)
    assert [(one.compared, one.problem) for one in found] == [(0, None), (0, None), (1, None)]
    assert [one.compared for one in verify(tmp_path, barnabas_topic, None)] == [0, 0, 0]


def _rewrite(history: Path, topic: str, table: pa.Table) -> None:
    """Replace the first file by another one, and update the manifest to match."""
    import hashlib
    import json

    path = history / topic / "_manifest.json"
    document = json.loads(path.read_text())
    piece = document["partitions"]["0"]["pieces"][0]
    file = history / topic / piece["file"]
    pq.write_table(table, file)
    piece["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    piece["rows"] = table.num_rows
    path.write_text(json.dumps(document))


def test_every_difference_is_found(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    manifest = made(broker, barnabas_topic, tmp_path)
    first = next(iter(manifest.files()))
    assert first.file is not None
    file = tmp_path / barnabas_topic / first.file
    whole = file.read_bytes()
    table = pq.ParquetFile(file).read()
    problems = []
    at = table.schema.get_field_index("value")
    changed = table.set_column(at, "value", pa.array([b"a", b"x"], pa.binary()))
    for other in (changed, table.slice(0, 1), table.slice(1, 1)):
        _rewrite(tmp_path, barnabas_topic, other)
        problems.append(findings(broker, barnabas_topic, tmp_path)[0].problem)
    assert problems == [
        "offset 1 differs from the log in value",
        "offset 1 is only in the log",
        "offset 0 is only in the log",
    ]
    file.write_bytes(whole[:-1] + b"x")
    assert "SHA-256" in (findings(broker, barnabas_topic, tmp_path)[0].problem or "")
    file.unlink()
    assert "cannot be read" in (findings(broker, barnabas_topic, tmp_path)[0].problem or "")


def test_old_files_go_from_the_front(broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    broker.create_topic(barnabas_topic)
    now = now_ms()
    for age_ms, value in ((9000, b"a"), (1000, b"b"), (8000, b"c"), (0, b"d")):
        write(broker.bootstrap_servers, barnabas_topic, [value], timestamp=now - age_ms)
        archived(broker.bootstrap_servers, barnabas_topic, tmp_path)
    removed = retain(tmp_path, barnabas_topic, older_than_ms=now - 5000, bytes_max=None)
    assert [(one.files, one.rows, one.start) for one in removed] == [(1, 1, 1)]  # c comes after b, which stays
    left = load(tmp_path, barnabas_topic)
    assert (values_of(tmp_path, left), left.tiered_through) == ([b"b", b"c", b"d"], {0: 4})
    assert len(list((tmp_path / barnabas_topic).glob("*.parquet"))) == 3
    size = sum(piece.bytes for piece in left.files())
    retain(tmp_path, barnabas_topic, older_than_ms=None, bytes_max=size - 1)
    assert values_of(tmp_path, load(tmp_path, barnabas_topic)) == [b"c", b"d"]
    retain(tmp_path, barnabas_topic, older_than_ms=now + 1, bytes_max=None)
    assert load(tmp_path, barnabas_topic).tiered_through == {0: 4}
    write(broker.bootstrap_servers, barnabas_topic, [b"e"])
    assert values_of(tmp_path, archived(broker.bootstrap_servers, barnabas_topic, tmp_path)) == [b"e"]


def test_without_a_history_there_is_nothing_to_keep_or_check(tmp_path: Path) -> None:
    with pytest.raises(NoHistory):
        retain(tmp_path, "none", older_than_ms=0, bytes_max=None)
    with pytest.raises(NoHistory):
        list(verify(tmp_path, "none", None))
