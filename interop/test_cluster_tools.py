"""Kafka's tools and newest admin client on what concerns the cluster: features, the quorum, quotas, log directories."""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka_tools import KafkaTools, java
from peers import Peers

from barnabas.testing import Broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """With two log directories."""
    home = tmp_path_factory.mktemp("directories")
    with Broker(process=True, data_dir=f"{home}/one,{home}/two") as running:
        yield running


@pytest.fixture
def topic(broker: Broker, barnabas_topic: str) -> str:
    broker.create_topic(barnabas_topic, partitions=2)
    return barnabas_topic


@pytest.fixture
def at(broker: Broker) -> tuple[str, str]:
    return "--bootstrap-server", broker.bootstrap_servers


def test_feature_command(tools: KafkaTools, at: tuple[str, str]) -> None:
    described = tools.run("FeatureCommand", *at, "describe")
    levels = {words[1]: words[7] for words in described.words}
    assert levels["metadata.version"] == "4.3-IV0"
    name = "eligible.leader.replicas.version"
    assert levels[name] == "1"
    dry = tools.run("FeatureCommand", *at, "downgrade", "--feature", f"{name}=0", "--dry-run")
    assert dry.lines == [f"{name} can be downgraded to 0."]
    assert tools.run("FeatureCommand", *at, "disable", "--feature", name).lines == [f"{name} was disabled."]
    assert tools.run("FeatureCommand", *at, "upgrade", "--feature", f"{name}=1").lines == [f"{name} was upgraded to 1."]
    refused = tools.run("FeatureCommand", *at, "upgrade", "--feature", f"{name}=9", status=1)
    assert "Local controller 1 only supports versions 0-1" in refused.out


def test_metadata_quorum_command(tools: KafkaTools, at: tuple[str, str]) -> None:
    status = tools.run("MetadataQuorumCommand", *at, "describe", "--status").lines
    assert {"LeaderId:               1", "MaxFollowerLag:         0", "CurrentObservers:       []"} <= set(status)
    replication = tools.run("MetadataQuorumCommand", *at, "describe", "--replication").words
    assert (replication[1][0], replication[1][-1]) == ("1", "Leader")
    directory = replication[1][1]
    removal = ("remove-controller", "--controller-id", 1, "--controller-directory-id", directory)
    assert "VoterNotFoundException" in tools.run("MetadataQuorumCommand", *at, *removal, status=1).err


def test_leader_election_command(tools: KafkaTools, at: tuple[str, str], topic: str) -> None:
    kind = ("--election-type", "preferred")
    elected = tools.run("LeaderElectionCommand", *at, *kind, "--topic", topic, "--partition", 0)
    assert elected.lines == [f"Valid replica already elected for partitions {topic}-0"]
    assert tools.run("LeaderElectionCommand", *at, *kind, "--all-topic-partitions").lines == []


def test_a_partition_moves_to_another_directory(
    tools: KafkaTools, at: tuple[str, str], topic: str, tmp_path: Path
) -> None:
    def directories() -> dict[str, list[str]]:
        output = json.loads(tools.run("LogDirsCommand", *at, "--describe", "--topic-list", topic).lines[-1])
        return {
            each["logDir"]: [partition["partition"] for partition in each["partitions"] if not partition["isFuture"]]
            for each in output["brokers"][0]["logDirs"]
        }

    before = directories()
    source = next(path for path, partitions in before.items() if f"{topic}-0" in partitions)
    target = next(path for path in before if path != source)
    plan = tmp_path / "plan.json"
    entry = {"topic": topic, "partition": 0, "replicas": [1], "log_dirs": [target]}
    plan.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    command = ("reassign.ReassignPartitionsCommand", *at, "--reassignment-json-file", plan)
    assert f"Successfully started moving log directory to {target}" in tools.run(*command, "--execute").out
    done = f"Reassignment of replica {topic}-0-1 completed successfully."
    deadline = time.monotonic() + 30
    while done not in tools.run(*command, "--verify").lines:
        assert time.monotonic() < deadline
    assert f"{topic}-0" in directories()[target]
    assert "No partition reassignments found." in tools.run("reassign.ReassignPartitionsCommand", *at, "--list").lines


def test_client_metrics_command(tools: KafkaTools, at: tuple[str, str]) -> None:
    tools.run("ClientMetricsCommand", *at, "--alter", "--name", "sub", "--metrics", "a,b", "--interval", 1000)
    assert tools.run("ClientMetricsCommand", *at, "--list").lines == ["sub"]
    described = tools.run("ClientMetricsCommand", *at, "--describe", "--name", "sub").lines
    assert {"  interval.ms=1000", "  metrics=a,b"} <= set(described)
    tools.run("ClientMetricsCommand", *at, "--delete", "--name", "sub")
    assert tools.run("ClientMetricsCommand", *at, "--list").out.strip() == ""


def test_config_command_for_quotas_credentials_and_loggers(tools: KafkaTools, at: tuple[str, str]) -> None:
    entity = ("--entity-type", "users", "--entity-name", "alice", "--entity-type", "clients", "--entity-default")
    tools.run("ConfigCommand", *at, "--alter", *entity, "--add-config", "producer_byte_rate=1024,request_percentage=50")
    (output,) = tools.run("ConfigCommand", *at, "--describe", *entity).lines
    assert output.startswith("Quota configs for user-principal 'alice', the default client-id are ")
    assert {"producer_byte_rate=1024.0", "request_percentage=50.0"} == set(output.split(" are ")[1].split(", "))
    removal = ("--delete-config", "producer_byte_rate,request_percentage")
    tools.run("ConfigCommand", *at, "--alter", *entity, *removal)
    assert tools.run("ConfigCommand", *at, "--describe", *entity).lines == []
    secret = "SCRAM-SHA-256=[iterations=8192,password=secret]"
    tools.run("ConfigCommand", *at, "--alter", "--user", "bob", "--add-config", secret)
    assert tools.run("ConfigCommand", *at, "--describe", "--user", "bob").lines == [
        "SCRAM credential configs for user-principal 'bob' are SCRAM-SHA-256=iterations=8192"
    ]
    tools.run("ConfigCommand", *at, "--alter", "--user", "bob", "--delete-config", "SCRAM-SHA-256")
    address = ("--entity-type", "ips", "--entity-name", "127.0.0.9")
    tools.run("ConfigCommand", *at, "--alter", *address, "--add-config", "connection_creation_rate=10")
    assert tools.run("ConfigCommand", *at, "--describe", *address).lines == [
        "Quota configs for ip '127.0.0.9' are connection_creation_rate=10.0"
    ]
    tools.run("ConfigCommand", *at, "--alter", *address, "--delete-config", "connection_creation_rate")
    logger = ("--entity-type", "broker-loggers", "--entity-name", 1)
    tools.run("ConfigCommand", *at, "--alter", *logger, "--add-config", "barnabas=INFO")
    assert "  barnabas=INFO sensitive=false synonyms={}" in tools.run("ConfigCommand", *at, "--describe", *logger).lines


def test_a_producer_under_a_quota_is_throttled(tools: KafkaTools, at: tuple[str, str], topic: str) -> None:
    quota = ("--entity-type", "clients", "--entity-name", "perf")
    tools.run("ConfigCommand", *at, "--alter", *quota, "--add-config", "producer_byte_rate=50000")
    measured = tools.run(
        "ProducerPerformance",
        *at,
        "--topic",
        topic,
        "--num-records",
        700,
        "--record-size",
        1000,
        "--throughput",
        -1,
        "--command-property",
        "client.id=perf",
        "--print-metrics",
    )
    tools.run("ConfigCommand", *at, "--alter", *quota, "--delete-config", "producer_byte_rate")
    (throttle,) = re.findall(r"producer-metrics:produce-throttle-time-max:\{.*?\}\s*: ([\d.]+)", measured.out)
    assert float(throttle) > 0


def test_cluster_tool(tools: KafkaTools, at: tuple[str, str]) -> None:
    assert tools.run("ClusterTool", "cluster-id", *at).lines[0].startswith("Cluster ID: ")
    assert "unfenced" in tools.run("ClusterTool", "list-endpoints", *at).out
    assert "BrokerIdNotRegisteredException" in tools.run("ClusterTool", "unregister", *at, "--id", 7, status=1).err


def test_transactions_command(tools: KafkaTools, at: tuple[str, str], topic: str) -> None:
    assert tools.run("TransactionsCommand", *at, "list").words[0][0] == "TransactionalId"
    hanging = tools.run("TransactionsCommand", *at, "find-hanging", "--topic", topic)
    assert len(hanging.lines) == 1


def test_the_newest_admin_client(peers: Peers, broker: Broker, topic: str) -> None:
    command = java([peers.java_client, peers.client_jars / "*"], heap_mb=256)
    arguments = ("Administration", broker.bootstrap_servers, topic)
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    assert int(done.stdout) == 23
