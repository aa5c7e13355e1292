"""Outputs are read as any consumer would: committed records, and the files that the table lists."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
from demo.outputs import listed_files, read_history


def batch(table: Path, name: str, *files: str) -> None:
    listing = table / "_spark_metadata" / name
    listing.parent.mkdir(parents=True, exist_ok=True)
    entries = [json.dumps({"path": (table / file).as_uri(), "action": "add"}) for file in files]
    listing.write_text("\n".join(["v1", *entries]))


def write(table: Path, name: str, *ids: str) -> None:
    rows = [{"id": id_, "log_partition": 0, "log_offset": 1, "device_group": "g", "value": 1.0} for id_ in ids]
    parquet.write_table(pa.Table.from_pylist(rows), table / name)


def test_only_listed_files_count(tmp_path: Path) -> None:
    table = tmp_path / "a table"
    batch(table, "0", "one.parquet")
    batch(table, "1", "two.parquet")
    (table / "_spark_metadata" / ".2.tmp").write_text("v1")
    write(table, "one.parquet", "a", "b")
    write(table, "two.parquet", "b")
    write(table, "left-by-a-killed-batch.parquet", "c")
    assert [row.id for row in read_history(table)] == ["a", "b", "b"]


def test_a_list_of_all_batches_before_it(tmp_path: Path) -> None:
    for number in range(9):
        batch(tmp_path, str(number), f"{number}.parquet")
    batch(tmp_path, "9.compact", *(f"{number}.parquet" for number in range(10)))
    batch(tmp_path, "10", "10.parquet")
    assert [file.name for file in listed_files(tmp_path)] == [f"{number}.parquet" for number in range(11)]
    for number in range(9):  # Spark removes them some time later
        (tmp_path / "_spark_metadata" / str(number)).unlink()
    assert len(listed_files(tmp_path)) == 11


def test_no_table_yet(tmp_path: Path) -> None:
    assert read_history(tmp_path / "none") == []
