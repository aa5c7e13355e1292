"""Apache Kafka's DumpLogSegments reads every file that Barnabas writes, and finds no errors."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_contents import CODECS, KEYS, TOPICS, ClusterContents
from kafka_tools import KafkaTools, Outcome

from barnabas.testing import Broker

COMPLAINTS = re.compile(r"mismatch|corrupt|isvalid: false|out of order|not sane|fail|exception|error", re.IGNORECASE)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data directory of a stopped broker."""
    path = tmp_path_factory.mktemp("dump") / "data"
    properties = {"log.cleaner.backoff.ms": "200", "metadata.log.max.record.bytes.between.snapshots": "4000"}
    with Broker(process=True, data_dir=path, properties=properties) as broker:
        contents = ClusterContents()
        contents.write(broker.bootstrap_servers)
        contents.write_more(broker.bootstrap_servers)
        broker.stop()
        yield path


def dump(tools: KafkaTools, files: list[Path], *options: str) -> Outcome:
    assert files
    outcome = tools.run("DumpLogSegments", "--files", ",".join(map(str, sorted(files))), *options)
    complaints = [line for line in (*outcome.lines, *outcome.err.splitlines()) if COMPLAINTS.search(line)]
    assert complaints == []
    return outcome


@pytest.mark.parametrize("topic", sorted(set(TOPICS) - {"doomed"}))
def test_segments_and_their_records(tools: KafkaTools, data_dir: Path, topic: str) -> None:
    outcome = dump(tools, list(data_dir.glob(f"{topic}-*/*.log")), "--deep-iteration")
    codecs = set(re.findall(r"compresscodec: (\w+)", outcome.out))
    offsets = [int(found) for found in re.findall(r"^\| offset: (\d+)", outcome.out, re.MULTILINE)]
    if topic == "compacted":
        assert KEYS <= len(offsets) < 3000
        assert offsets == sorted(offsets)
        assert codecs <= set(CODECS)
    else:
        assert codecs == {"trimmed": {"zstd"}, "sequenced": {"none"}, "paid": {"none"}}.get(topic, set(CODECS))
        counts = {"plain": 1200, "trimmed": 1200, "segmented": 1000, "sequenced": 6, "paid": 160}
        assert len(offsets) == counts[topic]


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_indexes(tools: KafkaTools, data_dir: Path, kind: str) -> None:
    files = [path for path in data_dir.glob(f"*-*/*.{kind}") if path.parent.name != "compacted-0"]
    outcome = dump(tools, files)
    assert len(re.findall(r"^offset: |^timestamp: ", outcome.out, re.MULTILINE)) > 30


def test_producer_snapshots(tools: KafkaTools, data_dir: Path) -> None:
    output = dump(tools, list(data_dir.glob("plain-*/*.snapshot"))).out
    assert len(re.findall(r"producerId: \d+ producerEpoch: 0 ", output)) == len(CODECS) * 2 * 3


def test_transactions(tools: KafkaTools, data_dir: Path) -> None:
    """Two rounds of six over two partitions, of which two are aborted each time; a long one, and one that is open."""
    output = dump(tools, list(data_dir.glob("paid-*/*.log")), "--deep-iteration").out
    assert re.findall(r"endTxnMarker: (\w+) coordinatorEpoch: (\d+)", output).count(("ABORT", "0")) == 8
    assert re.findall(r"endTxnMarker: (\w+) coordinatorEpoch: (\d+)", output).count(("COMMIT", "0")) == 17
    aborted_at = {int(found) for found in re.findall(r"offset: (\d+) .* endTxnMarker: ABORT", output)}
    indexes = list(data_dir.glob("paid-*/*.txnindex"))
    assert len(indexes) > 2, "in several segments"
    entries = re.findall(
        r"version: 0 producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)",
        dump(tools, indexes).out,
    )
    assert len(entries) == 8
    assert {int(last) for _, _, last, _ in entries} == aborted_at
    assert all(int(first) < int(last) for _, first, last, _ in entries)
    newest = max(data_dir.glob("paid-0/*.snapshot"))
    (open_since,) = re.findall(r"currentTxnFirstOffset: OptionalLong\[(\d+)\]", dump(tools, [newest]).out)
    assert int(open_since) == int(newest.stem) - 1


def test_consumer_offsets(tools: KafkaTools, data_dir: Path) -> None:
    output = dump(tools, list(data_dir.glob("__consumer_offsets-*/*.log")), "--offsets-decoder").out
    committed = {}
    for key, value in re.findall(r"key: (\{.*?\}) payload: (\{.*\})$", output, re.MULTILINE):
        decoded = json.loads(key)
        if decoded["type"] in ("1", 1):
            place = decoded["data"]
            committed[place["group"], place["topic"], place["partition"]] = json.loads(value)["data"]["offset"]
    assert committed == {
        (group, "plain", index): 10 + index * step
        for group, step in (("readers", 1), ("others", 7))
        for index in range(3)
    }


def test_cluster_metadata(tools: KafkaTools, data_dir: Path) -> None:
    home = data_dir / "__cluster_metadata-0"
    log = dump(tools, list(home.glob("*.log")), "--cluster-metadata-decoder").out
    assert '"type":"REGISTER_BROKER_RECORD"' in log or '"type":"BROKER_REGISTRATION_CHANGE_RECORD"' in log
    snapshots = [path for path in home.glob("*.checkpoint") if int(path.name.split("-")[0]) > 0]
    output = dump(tools, snapshots, "--cluster-metadata-decoder").out
    kinds = set(re.findall(r'"type":"(\w+)"', output))
    assert {
        "FEATURE_LEVEL_RECORD",
        "REGISTER_BROKER_RECORD",
        "TOPIC_RECORD",
        "PARTITION_RECORD",
        "CONFIG_RECORD",
    } <= kinds
    assert {"SnapshotHeader", "SnapshotFooter", "KRaftVersion", "KRaftVoters"} <= set(
        re.findall(r"\] (\w+) \{", output)
    )
