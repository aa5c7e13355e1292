"""kafka-dump-log on files: the lines that Kafka's DumpLogSegments prints for the same bytes."""

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from cli_running import Run

from barnabas.records.batch import Batch, read_header
from barnabas.records.record import Header, Record, build_batch
from barnabas.testing import Broker

NOW = 1_794_742_864_926


def segment(directory: Path, *batches: bytes, offset: int = 0) -> Path:
    path = directory / f"{offset:020d}.log"
    path.write_bytes(b"".join(batches))
    return path


def two_records(base_offset: int = 0) -> bytes:
    return build_batch(
        [
            Record(base_offset, NOW, b"k1", b"v1", (Header("h", b"x"),)),
            Record(base_offset + 1, NOW + 1, None, b"v2", ()),
        ],
        base_offset=base_offset,
        producer_id=7,
        producer_epoch=0,
        base_sequence=base_offset,
        leader_epoch=3,
    )


def line_of(batch: bytes, position: int, *, valid: str = "true") -> str:
    header = Batch(read_header(batch), memoryview(batch)).header
    base = header.base_offset
    return (
        f"baseOffset: {base} lastOffset: {base + 1} count: 2 baseSequence: {base} lastSequence: {base + 1} "
        "producerId: 7 producerEpoch: 0 partitionLeaderEpoch: 3 isTransactional: false isControl: false "
        f"deleteHorizonMs: OptionalLong.empty position: {position} CreateTime: {NOW + 1} size: {len(batch)} magic: 2 "
        f"compresscodec: none crc: {header.crc} isvalid: {valid}"
    )


def test_batches_and_records(barnabas: Run, tmp_path: Path) -> None:
    first, second = two_records(), two_records(2)
    path = str(segment(tmp_path, first, second))
    head = [f"Dumping {path}", "Log starting offset: 0"]
    batches = [line_of(first, 0), line_of(second, len(first))]
    assert barnabas("kafka-dump-log", "--files", path).good().splitlines() == head + batches

    records = [
        f"| offset: 0 CreateTime: {NOW} keySize: 2 valueSize: 2 sequence: 0 headerKeys: [h]",
        f"| offset: 1 CreateTime: {NOW + 1} keySize: -1 valueSize: 2 sequence: 1 headerKeys: []",
    ]
    deep = barnabas("kafka-dump-log", "--files", path, "--deep-iteration").good().splitlines()
    assert deep[:5] == [*head, batches[0], *records]
    printed = barnabas("kafka-dump-log", "--files", path, "--print-data-log").good().splitlines()
    assert printed[3:5] == [f"{records[0]} key: k1 payload: v1", f"{records[1]} payload: v2"]
    bare = barnabas("kafka-dump-log", "--files", path, "--print-data-log", "--skip-record-metadata").good().splitlines()
    assert bare[3:5] == ["| key: k1 payload: v1", "| payload: v2"]
    limited = barnabas("kafka-dump-log", "--files", path, "--max-bytes", str(len(first))).good().splitlines()
    assert limited == [*head, batches[0]]


def test_damage_is_shown_and_passed_over(barnabas: Run, tmp_path: Path) -> None:
    first, second = two_records(), two_records(5)
    broken = first.replace(b"v1", b"v9")
    path = str(segment(tmp_path, broken, second, second[:50]))
    shown = barnabas("kafka-dump-log", "--files", path, "--deep-iteration")
    lines = shown.good().splitlines()
    assert lines[2] == line_of(first, 0, valid="false")
    assert lines[-1] == f"Found 50 invalid bytes at the end of {0:020d}.log"
    assert f"Non-consecutive offsets in {path}\n  1 is followed by 5" in shown.err


def test_indexes_are_compared_with_their_segment(barnabas: Run, tmp_path: Path) -> None:
    first, second = two_records(100), two_records(102)
    segment(tmp_path, first, second, offset=100)
    index = tmp_path / f"{100:020d}.index"
    index.write_bytes(struct.pack(">iiii", 1, 0, 3, len(first)))
    times = tmp_path / f"{100:020d}.timeindex"
    times.write_bytes(struct.pack(">qi", NOW + 1, 1))
    files = f"{index},{times}"
    shown = barnabas("kafka-dump-log", "--files", files)
    assert shown.good().splitlines() == [
        f"Dumping {index}",
        "offset: 101 position: 0",
        f"offset: 103 position: {len(first)}",
        f"Dumping {times}",
        f"timestamp: {NOW + 1} offset: 101",
    ]
    assert shown.err == ""
    sane = barnabas("kafka-dump-log", "--files", files, "--index-sanity-check").good().splitlines()
    assert sane[1::2] == [f"{index} passed sanity check.", f"{times} passed sanity check."]

    index.write_bytes(struct.pack(">iiii", 1, 0, 4, len(first)))
    times.write_bytes(struct.pack(">qi", NOW, 1))
    quiet = barnabas("kafka-dump-log", "--files", files, "--verify-index-only")
    assert quiet.good().splitlines() == [f"Dumping {index}", f"Dumping {times}"]
    assert f"Mismatches in :{index}\n  Index offset: 104, log offset: 103" in quiet.err
    assert f"Found timestamp mismatch in :{times}\n  Index timestamp: {NOW}, log timestamp: {NOW + 1}" in quiet.err
    index.write_bytes(b"")
    assert barnabas("kafka-dump-log", "--files", str(index)).good().endswith(f"{index} is empty.\n")


@pytest.mark.clients
def test_what_a_broker_wrote(barnabas: Run, barnabas_topic: str) -> None:
    with Broker() as broker:
        servers = ("--bootstrap-server", broker.bootstrap_servers)
        barnabas("kafka-topics", *servers, "--create", "--topic", barnabas_topic).good()
        barnabas("kafka-console-producer", *servers, "--topic", barnabas_topic, stdin="a\nb\n").good()
        reset = ("--reset-offsets", "--to-earliest", "--execute", "--group", "g", "--topic", barnabas_topic)
        barnabas("kafka-consumer-groups", *servers, *reset).good()
        broker.stop()
        data = Path(broker.data_dir)

        metadata = data / "__cluster_metadata-0"
        (log,) = metadata.glob("*.log")
        lines = barnabas("kafka-dump-log", "--cluster-metadata-decoder", "--files", str(log)).good()
        assert ' LeaderChange: {"version":0,"leaderId":1,"voters":[{"voterId":1}]' in lines
        assert 'KRaftVersion {"version":0,"kRaftVersion":1}' in lines
        records = [json.loads(line.partition(" payload: ")[2]) for line in lines.splitlines() if " payload: " in line]
        (topic,) = [record for record in records if record["data"].get("name") == barnabas_topic]
        assert topic["type"] == "TOPIC_RECORD"
        assert len(topic["data"]["topicId"]) == 22
        snapshot = min(metadata.glob("*.checkpoint"))
        shown = barnabas("kafka-dump-log", "--cluster-metadata-decoder", "--files", str(snapshot)).good()
        assert shown.splitlines()[1] == "Snapshot end offset: 0, epoch: 0"
        assert " SnapshotHeader {" in shown
        assert ' SnapshotFooter {"version":0}' in shown

        offsets = ",".join(str(path) for path in data.glob("__consumer_offsets-*/*.log"))
        shown = barnabas("kafka-dump-log", "--offsets-decoder", "--files", offsets).good()
        key = {"type": "1", "data": {"group": "g", "topic": barnabas_topic, "partition": 0}}
        (line,) = [line for line in shown.splitlines() if json.dumps(key, separators=(",", ":")) in line]
        value = json.loads(line.partition(" payload: ")[2])
        assert value["version"] == "4"
        assert value["data"]["offset"] == 0

        (producers,) = (data / f"{barnabas_topic}-0").glob("*.snapshot")
        shown = barnabas("kafka-dump-log", "--files", str(producers)).good()
        assert "producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: OptionalLong.empty" in shown
        assert "firstSequence: 0 lastSequence: 1 lastOffset: 1 offsetDelta: 1" in shown


def test_what_cannot_be_dumped(barnabas: Run, tmp_path: Path) -> None:
    assert barnabas("kafka-dump-log").status == 1
    missing = barnabas("kafka-dump-log", "--files", str(tmp_path / f"{0:020d}.log"))
    assert missing.status == 1
    assert "cannot read" in missing.err
    other = tmp_path / "notes.txt"
    other.write_text("")
    assert f"Ignoring unknown file {other}" in barnabas("kafka-dump-log", "--files", str(other)).err
    refused = barnabas("kafka-dump-log", "--files", "x", "--value-decoder-class", "com.example.Mine")
    assert "Java classes cannot be loaded" in refused.err


def test_a_reader_that_has_seen_enough_ends_it_quietly(tmp_path: Path) -> None:
    path = segment(tmp_path, *(two_records(offset) for offset in range(0, 4000, 2)))
    command = f"{sys.executable} -m barnabas kafka-dump-log --files {path} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == f"Dumping {path}\n"
    assert done.stderr == ""
    assert done.returncode == 141


@pytest.mark.parametrize(
    ("decoder", "key", "value", "shown"),
    [
        (
            "--transaction-log-decoder",
            "0000" "0002" "6964",
            "0001" "0000000000000007" "0002" "00002710" "01" "02" "026f" "02" "00000000" "00"
            "00000000000003e8" "00000000000003e9" "02" "00" "08" "0000000000000005" "02" "02" "0002",
            'key: {"type":"0","data":{"transactionalId":"id"}} payload: {"version":"1","data":{"producerId":7,'
            '"previousProducerId":5,"producerEpoch":2,"transactionTimeoutMs":10000,"transactionStatus":1,'
            '"transactionPartitions":[{"topic":"o","partitionIds":[0]}],"transactionLastUpdateTimestampMs":1000,'
            '"transactionStartTimestampMs":1001,"clientTransactionVersion":2}}',
        ),
        (
            "--transaction-log-decoder",
            "0000" "0002" "6964",
            None,
            'key: {"type":"0","data":{"transactionalId":"id"}} payload: <DELETE>',
        ),
        ("--transaction-log-decoder", "0009", None, "key: Unknown record type 9 at offset 0, skipping."),
        (
            "--transaction-log-decoder",
            "0000" "0002" "6964",
            "0063",
            "key: Error at offset 0, skipping. version 99 of the value is unknown",
        ),
        (
            "--share-group-state-decoder",
            "0001" "0001" "67" + "00" * 15 + "01" "00000003",
            "0000" "00000001" "00000002" "0000000000000004" "02"
            "0000000000000004" "0000000000000005" "00" "0001" "00" "00",
            'key: {"type":"1","data":{"groupId":"g","topicId":"AAAAAAAAAAAAAAAAAAAAAQ","partition":3}} '
            'payload: {"version":"0","data":{"snapshotEpoch":1,"leaderEpoch":2,"startOffset":4,"stateBatches":'
            '[{"firstOffset":4,"lastOffset":5,"deliveryState":0,"deliveryCount":1}]}}',
        ),
    ],
)  # fmt: skip
def test_records_of_coordinators(
    barnabas: Run, tmp_path: Path, decoder: str, key: str, value: str | None, shown: str
) -> None:
    record = Record(0, NOW, bytes.fromhex(key), None if value is None else bytes.fromhex(value))
    path = segment(tmp_path, build_batch([record]))
    printed = barnabas("kafka-dump-log", "--files", str(path), decoder, "--skip-record-metadata").good()
    assert printed.splitlines()[-1] == f"| {shown}"
    both = barnabas("kafka-dump-log", "--files", str(path), decoder, "--offsets-decoder")
    assert both.status != 0
    assert "cannot be combined" in both.err
