"""`barnabas log` on directories, without a broker."""

import json
import struct
from pathlib import Path

import pytest
from cli_running import Run

from barnabas.env.disk import RealDisk
from barnabas.log.partition_log import PartitionLog
from barnabas.log.settings import LogSettings
from barnabas.model import TopicPartition
from barnabas.records.batch import read_batch
from barnabas.records.control import EndTransactionMarker, marker_batch
from barnabas.records.record import Record, build_batch


def batch(offset: int, count: int = 2, codec: int = 0) -> bytes:
    records = [
        Record(offset + number, 1000 + number, b"key", f"v{offset + number}".encode(), ()) for number in range(count)
    ]
    return build_batch(records, base_offset=offset, codec=codec)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two partitions; the second has two segments and an index."""
    for name, base, content in (
        ("orders-0", 0, batch(0) + batch(2, codec=4)),
        ("orders-1", 0, batch(0)),
        ("orders-1", 2, batch(2) + batch(4)),
    ):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / f"{base:020d}.log").write_bytes(content)
    (tmp_path / "orders-1" / f"{2:020d}.index").write_bytes(struct.pack(">ii", 3, len(batch(2))))
    properties = f"version=1\nnode.id=1\ncluster.id=c\ndirectory.id={'A' * 22}\n"
    (tmp_path / "meta.properties").write_text(properties)
    (tmp_path / ".kafka_cleanshutdown").write_text("")
    return tmp_path


def test_batches_and_records(barnabas: Run, data: Path) -> None:
    batches = json.loads(barnabas("log", "dump", str(data), "--format", "json").good())
    assert [(row["partition"], row["base_offset"]) for row in batches] == [
        ("orders-0", 0),
        ("orders-0", 2),
        ("orders-1", 0),
        ("orders-1", 2),
        ("orders-1", 4),
    ]
    assert {row["codec"] for row in batches} == {"none", "zstd"}
    records = json.loads(
        barnabas("log", "dump", str(data / "orders-1"), "--records", "--from-offset", "3", "--format", "json").good()
    )
    assert [(row["offset"], row["value"]) for row in records] == [(3, "v3"), (4, "v4"), (5, "v5")]
    table = barnabas("log", "dump", str(data), "-n", "1").good().splitlines()
    assert table[0].split()[:2] == ["PARTITION", "POSITION"]
    assert len(table) == 2


def test_what_is_whole_is_called_whole(barnabas: Run, data: Path) -> None:
    for extra in ([], ["--deep"]):
        verified = barnabas("log", "verify", str(data), *extra)
        assert verified.status == 0
        assert verified.out == ""
        assert verified.err.startswith("3 segments, 5 batches, ")
        assert verified.err.endswith("bytes: no damage\n")


def test_every_damage_is_reported(barnabas: Run, data: Path) -> None:
    first = data / "orders-0" / f"{0:020d}.log"
    content = bytearray(first.read_bytes())
    content[70] ^= 1
    first.write_bytes(content)
    last = data / "orders-1" / f"{2:020d}.log"
    last.write_bytes(last.read_bytes()[:-5])
    (data / "orders-1" / f"{2:020d}.index").write_bytes(struct.pack(">ii", 2, 7))
    (data / "orders-1" / f"{0:020d}.timeindex").write_bytes(b"odd size")
    (data / "orders-1" / f"{6:020d}.snapshot").write_bytes(b"nonsense")
    (data / "orders-1" / f"{1:020d}.log").write_bytes(batch(1, count=1))
    verified = barnabas("log", "verify", str(data), "--format", "json")
    assert verified.status == 1
    reasons = "\n".join(row["reason"] for row in json.loads(verified.out)["damages"])
    for words in (
        "the CRC of the batch at offset 0 is wrong",
        "does not match the batch at byte",
        "are left",
        "not a multiple of 12",
        "not a producer snapshot",
        "offsets 0 to 1 where all must be below 1",
    ):
        assert words in reasons
    assert "hint: " in verified.err
    assert barnabas("log", "verify", str(data)).status == 1


def test_readable_offsets_are_listed(barnabas: Run, data: Path) -> None:
    path = data / "orders-1" / f"{2:020d}.log"
    content = bytearray(path.read_bytes())
    content[10] ^= 1
    path.write_bytes(content)
    found = json.loads(barnabas("log", "verify", str(data), "--format", "json").out)
    assert [tuple(run.values()) for run in found["readable"]] == [
        ("orders-0", 0, 3),
        ("orders-1", 0, 1),
        ("orders-1", 4, 5),
    ]
    (damage,) = found["damages"]
    assert (damage["file"], damage["position"], damage["offset"], damage["next_offset"]) == (str(path), 0, 2, 4)


def test_what_a_start_after_a_crash_truncates_is_reported(barnabas: Run, data: Path) -> None:
    (data / ".kafka_cleanshutdown").unlink()
    path = data / "orders-1" / f"{2:020d}.log"
    content = bytearray(path.read_bytes())
    content[70] ^= 1
    path.write_bytes(content)
    for recovery_point, readable in ((5, [(0, 1), (4, 5)]), (2, [(0, 1)])):
        (data / "recovery-point-offset-checkpoint").write_text(f"0\n1\norders 1 {recovery_point}\n")
        found = json.loads(barnabas("log", "verify", str(data / "orders-1"), "--format", "json").out)
        assert [(run["first_offset"], run["last_offset"]) for run in found["readable"]] == readable
        assert ("truncates the log here" in found["damages"][0]["reason"]) is (recovery_point == 2)


@pytest.mark.parametrize("name", ["meta.properties", "recovery-point-offset-checkpoint", "orders-1/partition.metadata"])
def test_files_beside_the_segments_are_read_too(barnabas: Run, data: Path, name: str) -> None:
    (data / name).write_bytes(b"\xa5" * 10)
    verified = barnabas("log", "verify", str(data), "--format", "json")
    assert verified.status == 1
    assert [damage["file"] for damage in json.loads(verified.out)["damages"]] == [str(data / name)]


def test_a_batch_that_lies_about_its_records_is_found_by_decoding(barnabas: Run, data: Path) -> None:
    from barnabas.records.batch import read_header
    from barnabas.records.record import seal

    whole = batch(0)
    lie = seal(read_header(whole)._replace(record_count=9, last_offset_delta=8), whole[61:])
    (data / "orders-0" / f"{0:020d}.log").write_bytes(lie)
    assert barnabas("log", "verify", str(data / "orders-0")).status == 0
    deep = barnabas("log", "verify", str(data / "orders-0"), "--deep")
    assert deep.status == 1
    assert "its records cannot be read" in deep.out


def test_what_is_not_there(barnabas: Run, tmp_path: Path) -> None:
    for arguments in (["verify", str(tmp_path)], ["verify", str(tmp_path / "x")], ["dump", str(tmp_path / "x")]):
        failed = barnabas("log", *arguments)
        assert failed.status == 1
        assert "hint: give" in failed.err
    other = tmp_path / "x"
    other.write_text("")
    assert "is not a segment" in barnabas("log", "dump", str(other)).err


@pytest.fixture
def transactions(tmp_path: Path) -> Path:
    """A transaction that is aborted a segment after its records, one that is committed, one that stays open."""
    directory = tmp_path / "payments-0"
    log = PartitionLog.open(
        RealDisk(), str(directory), TopicPartition("payments", 0), LogSettings(segment_bytes=300), now_ms=1000
    )
    for producer_id, commit in ((7, False), (8, True), (9, None)):
        guard = log.producers.begin_verification(producer_id, 0, 0, supports_epoch_bump=True, now_ms=1000)
        records = [Record(0, 1000, b"key", b"v" * 100)]
        data = build_batch(records, producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
        log.append([read_batch(data)], leader_epoch=0, now_ms=1000, guard=guard)
        if commit is not None:
            marker = EndTransactionMarker(commit, 3)
            end = marker_batch(marker, producer_id=producer_id, producer_epoch=1, now_ms=1000)
            for filler in range(3):
                log.append([read_batch(batch(filler, 1))], leader_epoch=0, now_ms=1000)
            log.append_marker(end, marker, leader_epoch=0, now_ms=1000, transaction_version=2)
    log.close(clean=True)
    return directory


def test_markers_are_shown_as_what_they_say(barnabas: Run, transactions: Path) -> None:
    records = json.loads(barnabas("log", "dump", str(transactions), "--records", "--format", "json").good())
    assert [(row["key"], row["value"]) for row in records if row["key"] != "key"] == [
        ("ABORT", "coordinator epoch 3"),
        ("COMMIT", "coordinator epoch 3"),
    ]
    (index,) = transactions.glob("*.txnindex")
    dumped = barnabas("kafka-dump-log", "--files", str(index)).good()
    assert dumped.splitlines()[1] == "version: 0 producerId: 7 firstOffset: 0 lastOffset: 4 lastStableOffset: 5"


def test_a_transaction_index_must_match_the_markers(barnabas: Run, transactions: Path) -> None:
    assert barnabas("log", "verify", str(transactions)).status == 0
    (index,) = transactions.glob("*.txnindex")
    content = index.read_bytes()
    index.write_bytes(content[:9] + b"\x09" + content[10:])
    assert "its checksum is wrong" in barnabas("log", "verify", str(transactions)).out
    for checksum in transactions.glob("*.txnchecksum"):
        checksum.unlink()  # as in directories that Kafka wrote
    for wrong, reason in (
        (b"", "lacks the abort at offset 4"),
        (content[:9] + b"\x09" + content[10:], "producer 9 at offset 4, which does not exist"),
        (content[:-1], "not a multiple of 34"),
        (b"\x00\x01" + content[2:], "not all entries have version 0"),
    ):
        index.write_bytes(wrong)
        verified = barnabas("log", "verify", str(transactions), "--format", "json")
        assert verified.status == 1
        (damage,) = json.loads(verified.out)["damages"]
        assert damage["file"] == str(index)
        assert reason in damage["reason"]
