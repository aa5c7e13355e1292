"""Apache Kafka's command-line tools, unmodified, against Barnabas."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from kafka_tools import KafkaTools, java
from peers import Peers

from barnabas.testing import Broker


@pytest.fixture
def topic(broker: Broker, barnabas_topic: str) -> str:
    broker.create_topic(barnabas_topic, partitions=3)
    return barnabas_topic


@pytest.fixture
def at(broker: Broker) -> tuple[str, str]:
    return "--bootstrap-server", broker.bootstrap_servers


def fill(broker: Broker, topic: str, count: int, partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(count):
        producer.produce(topic, str(number), key=f"key {number}", partition=partition)
    assert producer.flush(10) == 0


def commit_end(broker: Broker, group: str, topic: str, count: int) -> None:
    with member(broker, group, topic) as consumer:
        for _ in range(count):
            message = consumer.poll(10)
            assert message is not None
            assert message.error() is None
        consumer.commit(asynchronous=False)


@contextmanager
def member(broker: Broker, group: str, topic: str) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "client.id": "a-member",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    try:
        yield consumer
    finally:
        consumer.close()


def test_topic_command(tools: KafkaTools, at: tuple[str, str], barnabas_topic: str) -> None:
    name = ("--topic", barnabas_topic)
    created = tools.run(
        "TopicCommand",
        *at,
        "--create",
        *name,
        "--partitions",
        3,
        "--replication-factor",
        1,
        "--config",
        "segment.ms=777",
    )
    assert f"Created topic {barnabas_topic}." in created.lines
    again = tools.run("TopicCommand", *at, "--create", *name, status=1)
    assert f"Topic '{barnabas_topic}' already exists." in again.out
    tools.run("TopicCommand", *at, "--create", "--if-not-exists", *name)
    assert barnabas_topic in tools.run("TopicCommand", *at, "--list").lines

    summary, *partitions = tools.run("TopicCommand", *at, "--describe", *name).lines
    assert re.search(r"TopicId: \S{22}\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: \S+$", summary)
    # With eligible leader replicas the minimum is a cluster-wide config, and Kafka's tool shows it too.
    assert set(summary.rpartition("Configs: ")[2].split(",")) == {"min.insync.replicas=1", "segment.ms=777"}
    assert [re.sub(r"\s+", " ", line.strip()) for line in partitions] == [
        f"Topic: {barnabas_topic} Partition: {index} Leader: 1 Replicas: 1 Isr: 1 Elr: LastKnownElr:"
        for index in range(3)
    ]
    for lacking in ("--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions"):
        assert tools.run("TopicCommand", *at, "--describe", *name, lacking).out == ""
    with_overrides = tools.run("TopicCommand", *at, "--describe", "--topics-with-overrides").out
    assert barnabas_topic in with_overrides

    tools.run("TopicCommand", *at, "--alter", *name, "--partitions", 5)
    assert "PartitionCount: 5" in tools.run("TopicCommand", *at, "--describe", *name).lines[0]
    shrunk = tools.run("TopicCommand", *at, "--alter", *name, "--partitions", 2, status=1)
    assert "InvalidPartitionsException" in shrunk.err
    greedy = tools.run("TopicCommand", *at, "--create", "--topic", "r3", "--replication-factor", 3, status=1)
    assert "InvalidReplicationFactorException" in greedy.err

    tools.run("TopicCommand", *at, "--delete", *name)
    assert barnabas_topic not in tools.run("TopicCommand", *at, "--list").lines
    assert "does not exist as expected" in tools.run("TopicCommand", *at, "--describe", *name, status=1).out


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_console_producer_and_consumer(tools: KafkaTools, at: tuple[str, str], topic: str, codec: str) -> None:
    keyed = ("parse.key=true", "key.separator=:", "parse.headers=true")
    tools.run(
        "ConsoleProducer",
        *at,
        *("--topic", topic, "--compression-codec", codec),
        *(word for each in keyed for word in ("--reader-property", each)),
        stdin="".join(f"origin:console,turn:{n}\tkey {n % 7}:value {n} ü\n" for n in range(50)),
    )
    shown = (
        "print.key=true",
        "print.headers=true",
        "print.partition=true",
        "print.offset=true",
        "print.timestamp=true",
    )
    read = tools.run(
        "ConsoleConsumer",
        *at,
        *("--topic", topic, "--group", topic, "--from-beginning", "--max-messages", 50),
        *("--command-property", "enable.auto.commit=false"),
        *(word for each in shown for word in ("--formatter-property", each)),
    )
    assert "Processed a total of 50 messages" in read.err
    offsets: dict[str, list[int]] = {}
    partition_of_key: dict[str, set[str]] = {}
    values = set()
    for line in read.lines:
        time, partition, offset, headers, key, value = line.split("\t")
        assert time.startswith("CreateTime:")
        offsets.setdefault(partition, []).append(int(offset.removeprefix("Offset:")))
        partition_of_key.setdefault(key, set()).add(partition)
        turn = value.split()[1]
        assert headers == f"origin:console,turn:{turn}"
        assert key == f"key {int(turn) % 7}"
        values.add(value)
    assert values == {f"value {n} ü" for n in range(50)}
    assert all(found == list(range(len(found))) for found in offsets.values())
    assert all(len(partitions) == 1 for partitions in partition_of_key.values())


def test_console_consumer_from_an_offset(tools: KafkaTools, at: tuple[str, str], broker: Broker, topic: str) -> None:
    fill(broker, topic, 10)
    where = ("--topic", topic, "--partition", 0, "--offset", 7, "--max-messages", 3)
    assert tools.run("ConsoleConsumer", *at, *where).lines == ["7", "8", "9"]
    nothing = ("--topic", topic, "--partition", 0, "--offset", "latest", "--timeout-ms", 300)
    assert tools.run("ConsoleConsumer", *at, *nothing).out == ""


def test_consumer_group_command(
    tools: KafkaTools, at: tuple[str, str], broker: Broker, topic: str, tmp_path: Path
) -> None:
    group = ("--group", topic)
    fill(broker, topic, 20, partition=0)
    fill(broker, topic, 10, partition=2)
    with member(broker, topic, topic) as consumer:
        for _ in range(30):
            assert consumer.poll(10) is not None
        consumer.commit(asynchronous=False)
        fill(broker, topic, 5, partition=2)
        assert topic in tools.run("ConsumerGroupCommand", *at, "--list").lines
        assert [topic, "Classic", "Stable"] in [
            [row[0], row[1], row[2]]
            for row in tools.run("ConsumerGroupCommand", *at, "--list", "--state", "--type").words[1:]
        ]
        rows = [row for row in tools.run("ConsumerGroupCommand", *at, "--describe", *group).words if row[:1] == [topic]]
        assert sorted(row[2:6] for row in rows) == [
            ["0", "20", "20", "0"],
            ["1", "-", "0", "-"],
            ["2", "10", "15", "5"],
        ]
        assert all(row[6].startswith("a-member") and row[8] == "a-member" for row in rows)
        state = tools.run("ConsumerGroupCommand", *at, "--describe", *group, "--state").words[-1]
        assert state[-2:] == ["Stable", "1"]
        (listed,) = tools.run("ConsumerGroupCommand", *at, "--describe", *group, "--members", "--verbose").words[2:]
        assert listed[0] == topic
        assert listed[4] == "3"
        assert f"{topic}:0,1,2" in listed
        busy = tools.run(
            "ConsumerGroupCommand",
            *at,
            "--reset-offsets",
            *group,
            "--all-topics",
            "--to-earliest",
            "--execute",
        )
        assert "can only be reset if the group" in busy.out
        assert "GroupNotEmptyException" in tools.run("ConsumerGroupCommand", *at, "--delete", *group).out

    def reset(*how: object, to: dict[int, int]) -> str:
        outcome = tools.run("ConsumerGroupCommand", *at, "--reset-offsets", *group, *how)
        rows = [row for row in outcome.words if row[:1] == [topic]]
        assert {int(row[2]): int(row[3]) for row in rows} == to
        return outcome.out

    every = ("--topic", topic)
    reset(*every, "--to-earliest", "--dry-run", to={0: 0, 1: 0, 2: 0})
    reset(*every, "--to-latest", "--execute", to={0: 20, 1: 0, 2: 15})
    reset(*every, "--shift-by", -5, "--execute", to={0: 15, 1: 0, 2: 10})
    reset("--topic", f"{topic}:0", "--to-offset", 3, "--execute", to={0: 3})
    reset(*every, "--to-datetime", "2020-01-01T00:00:00.000", "--execute", to={0: 0, 1: 0, 2: 0})
    reset(*every, "--by-duration", "PT0S", "--execute", to={0: 20, 1: 0, 2: 15})
    exported = tools.run("ConsumerGroupCommand", *at, "--reset-offsets", *group, *every, "--to-current", "--export").out
    assert sorted(line for line in exported.splitlines() if line) == [
        f'"{topic}",{p},{o}' for p, o in ((0, 20), (1, 0), (2, 15))
    ]
    plan = tmp_path / "plan.csv"
    plan.write_text(f"{topic},0,4\n{topic},2,6\n")
    reset("--from-file", plan, "--execute", to={0: 4, 2: 6})
    rows = [row for row in tools.run("ConsumerGroupCommand", *at, "--describe", *group).words if row[:1] == [topic]]
    assert sorted(row[2:6] for row in rows) == [["0", "4", "20", "16"], ["1", "0", "0", "0"], ["2", "6", "15", "9"]]

    forgotten = tools.run("ConsumerGroupCommand", *at, "--delete-offsets", *group, "--topic", f"{topic}:2").out
    assert "Successful" in forgotten
    assert "successful" in tools.run("ConsumerGroupCommand", *at, "--delete", *group).out
    assert topic not in tools.run("ConsumerGroupCommand", *at, "--list").lines
    assert topic not in tools.run("GroupsCommand", *at, "--list").out


def test_config_command(tools: KafkaTools, at: tuple[str, str], broker: Broker, topic: str) -> None:
    subject = (*at, "--entity-type", "topics", "--entity-name", topic)
    done = tools.run(
        "ConfigCommand", *subject, "--alter", "--add-config", "retention.ms=60000,cleanup.policy=[compact,delete]"
    )
    assert f"Completed updating config for topic {topic}." in done.lines
    output = tools.run("ConfigCommand", *subject, "--describe").out
    assert "retention.ms=60000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=60000" in output
    assert "cleanup.policy=compact,delete " in output
    everything = tools.run("ConfigCommand", *subject, "--describe", "--all").out
    assert "min.insync.replicas=1 " in everything
    tools.run("ConfigCommand", *subject, "--alter", "--delete-config", "retention.ms,cleanup.policy")
    assert tools.run("ConfigCommand", *subject, "--describe").lines == [f"Dynamic configs for topic {topic} are:"]
    for wrong in ("retention.ms=soon", "no.such.config=1"):
        assert "InvalidConfig" in tools.run("ConfigCommand", *subject, "--alter", "--add-config", wrong, status=1).err

    for whom in (("--entity-name", "1"), ("--entity-default",)):
        subject = (*at, "--entity-type", "brokers", *whom)
        tools.run("ConfigCommand", *subject, "--alter", "--add-config", "log.retention.ms=12345678")
        assert "log.retention.ms=12345678" in tools.run("ConfigCommand", *subject, "--describe").out
        tools.run("ConfigCommand", *subject, "--alter", "--delete-config", "log.retention.ms")
        assert "log.retention.ms" not in tools.run("ConfigCommand", *subject, "--describe").out


def test_verifiable_producer_and_consumer(peers: Peers, at: tuple[str, str], topic: str) -> None:
    """In separate JVMs: they run until a signal comes, and then print their summary."""
    command = java([peers.kafka_jars / "*"], heap_mb=256)
    tools = "org.apache.kafka.tools."
    where = [*at, "--topic", topic, "--max-messages", "200"]
    with subprocess.Popen(
        [*command, tools + "VerifiableConsumer", *where, "--group-id", topic, "--reset-policy", "earliest"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as consumer:
        producer = subprocess.run(
            [*command, tools + "VerifiableProducer", *where, "--acks", "-1"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        out, err = consumer.communicate(timeout=60)
    assert consumer.returncode == 0, err
    sent = [json.loads(line) for line in producer.stdout.splitlines()]
    places = {(each["partition"], each["offset"]) for each in sent if each["name"] == "producer_send_success"}
    assert len(places) == 200
    (summary,) = (each for each in sent if each["name"] == "tool_data")
    assert (summary["sent"], summary["acked"]) == (200, 200)
    events = [json.loads(line) for line in out.splitlines()]
    names = [event["name"] for event in events]
    assert "partitions_assigned" in names
    assert "shutdown_complete" in names
    consumed = [event for event in events if event["name"] == "records_consumed"]
    assert sum(event["count"] for event in consumed) == 200
    committed = [event for event in events if event["name"] == "offsets_committed"]
    assert all(event["success"] for event in committed)
    assert sum({each["partition"]: each["offset"] for event in committed for each in event["offsets"]}.values()) == 200


def test_performance_tools(tools: KafkaTools, at: tuple[str, str], topic: str) -> None:
    amount = ("--topic", topic, "--num-records", 50_000)
    produced = tools.run("ProducerPerformance", *at, *amount, "--record-size", 100, "--throughput", -1)
    # Some tools leave an admin client behind in their JVM, which misses its broker later.
    assert [line for line in produced.err.splitlines() if "clientId=adminclient" not in line] == []
    assert "50000 records sent" in produced.lines[-1]
    consumed = tools.run("ConsumerPerformance", *at, *amount, "--group", topic)
    names, figures = (line.split(", ") for line in consumed.lines[-2:])
    assert int(dict(zip(names, figures, strict=True))["data.consumed.in.nMsg"]) == 50_000
    latency = tools.run(
        "EndToEndLatency", *at, "--topic", topic, "--num-records", 100, "--producer-acks", "all", "--record-size", 20
    )
    assert "Percentiles: 50th" in latency.out


def test_offsets_and_deleted_records(
    tools: KafkaTools, at: tuple[str, str], broker: Broker, topic: str, tmp_path: Path
) -> None:
    fill(broker, topic, 30)

    def offsets(time: int) -> list[str]:
        return tools.run("GetOffsetShell", *at, "--topic", topic, "--time", time).lines

    assert offsets(-1) == [f"{topic}:0:30", f"{topic}:1:0", f"{topic}:2:0"]
    assert offsets(-2) == [f"{topic}:{index}:0" for index in range(3)]
    assert offsets(-3)[0].startswith(f"{topic}:0:")
    plan = tmp_path / "delete.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 12}]}))
    assert "low_watermark: 12" in tools.run("DeleteRecordsCommand", *at, "--offset-json-file", plan).out
    assert offsets(-2)[0] == f"{topic}:0:12"
    read = tools.run("ConsoleConsumer", *at, "--topic", topic, "--from-beginning", "--max-messages", 18)
    assert read.lines == [str(number) for number in range(12, 30)]


def test_api_versions_cluster_id_and_features(
    tools: KafkaTools, at: tuple[str, str], broker: Broker, topic: str
) -> None:
    fill(broker, topic, 100)
    output = tools.run("LogDirsCommand", *at, "--describe", "--topic-list", topic).lines[-1]
    (log_dir,) = json.loads(output)["brokers"][0]["logDirs"]
    assert (log_dir["error"], log_dir["logDir"]) == (None, broker.data_dir)
    sizes = {each["partition"]: each["size"] for each in log_dir["partitions"]}
    log = Path(broker.data_dir, f"{topic}-0", "00000000000000000000.log")
    assert sizes == {f"{topic}-0": log.stat().st_size, f"{topic}-1": 0, f"{topic}-2": 0}

    versions = tools.run("BrokerApiVersionsCommand", *at).out
    assert broker.bootstrap_servers in versions
    for api in ("Produce(0)", "Fetch(1)", "JoinGroup(11)", "CreateTopics(19)", "IncrementalAlterConfigs(44)"):
        assert re.search(rf"{re.escape(api)}: \d+ to \d+ \[usable: \d+\]", versions), api
    cluster_id = re.search(r"cluster\.id=(\S+)", Path(broker.data_dir, "meta.properties").read_text())
    assert cluster_id is not None
    assert tools.run("ClusterTool", "cluster-id", *at).lines == [f"Cluster ID: {cluster_id[1]}"]
    features = tools.run("FeatureCommand", *at, "describe").out
    assert re.search(r"metadata\.version .*FinalizedVersionLevel: 4\.3-IV0", features)
    assert re.search(r"kraft\.version .*FinalizedVersionLevel: 1", features)
    for name, level in (("group", 1), ("transaction", 2), ("share", 1), ("eligible.leader.replicas", 1)):
        assert re.search(rf"{re.escape(name)}\.version .*FinalizedVersionLevel: {level}", features), name
    assert "streams.version" not in features
