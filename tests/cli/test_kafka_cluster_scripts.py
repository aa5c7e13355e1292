"""kafka-features, -metadata-quorum, -leader-election, -reassign-partitions, -client-metrics, -cluster, quotas."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_running import CommandResult, Run

from barnabas.testing import Broker

pytestmark = pytest.mark.clients

ELR = "eligible.leader.replicas.version"


@pytest.fixture
def topic(script: Run, barnabas_topic: str) -> str:
    script("kafka-topics", "--create", "--topic", barnabas_topic, "--partitions", "2").good()
    return barnabas_topic


# --- features


def test_features_are_described(script: Run) -> None:
    lines = script("kafka-features", "describe").good().splitlines()
    by_name = {line.split()[1]: line.split() for line in lines}
    assert by_name["metadata.version"][2:8] == [
        "SupportedMinVersion:",
        "3.3-IV3",
        "SupportedMaxVersion:",
        "4.3-IV0",
        "FinalizedVersionLevel:",
        "4.3-IV0",
    ]
    assert by_name[ELR][7] == "1"
    assert lines[0].startswith(f"Feature: {ELR:<42}SupportedMinVersion: {0:<17}SupportedMaxVersion: {1:<17}Finalized")


def test_features_go_down_and_up(script: Run) -> None:
    feature = ("--feature", f"{ELR}=0")
    assert script("kafka-features", "downgrade", *feature, "--dry-run").good() == f"{ELR} can be downgraded to 0.\n"
    assert script("kafka-features", "downgrade", *feature).good() == f"{ELR} was downgraded to 0.\n"
    assert script("kafka-features", "upgrade", "--feature", f"{ELR}=1").good() == f"{ELR} was upgraded to 1.\n"
    assert script("kafka-features", "disable", "--feature", ELR, "--dry-run").good() == f"{ELR} can be disabled.\n"
    failed = script("kafka-features", "upgrade", "--feature", f"{ELR}=7")
    assert (failed.status, failed.out.splitlines()[0]) == (
        1,
        f"Could not upgrade {ELR} to 7. The update failed for all features since the following feature had an error:"
        f" Invalid update version 7 for feature {ELR}. Local controller 1 only supports versions 0-1",
    )
    assert "1 out of 1 operation(s) failed." in failed.err
    assert "You must specify at least one feature" in script("kafka-features", "upgrade").err
    assert "Unknown metadata.version 9.9" in script("kafka-features", "upgrade", "--release-version", "9.9").err


def test_releases_have_features(barnabas: Run) -> None:
    assert barnabas("kafka-features", "version-mapping").good().splitlines() == [
        "metadata.version=30 (4.3-IV0)",
        "kraft.version=1",
        "transaction.version=2",
        "group.version=1",
        "eligible.leader.replicas.version=1",
        "share.version=1",
        "streams.version=1",
    ]
    old = barnabas("kafka-features", "version-mapping", "--release-version", "3.9-IV0").good().splitlines()
    assert old[:3] == ["metadata.version=21 (3.9-IV0)", "kraft.version=1", "transaction.version=0"]
    needs = barnabas("kafka-features", "feature-dependencies", "--feature", f"{ELR}=1").good()
    assert needs == f"{ELR}=1 requires:\n    metadata.version=23 (4.0-IV1)\n"
    free = barnabas("kafka-features", "feature-dependencies", "--feature", "transaction.version=2").good()
    assert free == "transaction.version=2 has no dependencies.\n"


# --- the quorum and the cluster


def test_the_quorum_is_described(script: Run, barnabas_broker: Broker) -> None:
    status = dict(
        line.split(":", 1) for line in script("kafka-metadata-quorum", "describe", "--status").good().splitlines()
    )
    assert {name: value.strip() for name, value in status.items()} | {"HighWatermark": "", "LeaderEpoch": ""} == {
        "ClusterId": status["ClusterId"].strip(),
        "LeaderId": "1",
        "LeaderEpoch": "",
        "HighWatermark": "",
        "MaxFollowerLag": "0",
        "MaxFollowerLagTimeMs": "0",
        "CurrentVoters": status["CurrentVoters"].strip(),
        "CurrentObservers": "[]",
    }
    (voter,) = json.loads(status["CurrentVoters"])
    head, row = script("kafka-metadata-quorum", "describe", "--replication").good().splitlines()
    assert head.split("\t")[0] == "NodeId"
    cells = [cell.strip() for cell in row.split("\t")]
    assert (cells[0], cells[1], cells[3], cells[6]) == ("1", voter["directoryId"], "0", "Leader")
    human = script("kafka-metadata-quorum", "describe", "--replication", "--human-readable").good()
    assert "ms ago" in human
    removal = ("remove-controller", "--controller-id", "1", "--controller-directory-id", voter["directoryId"])
    assert "DRY RUN of removing" in script("kafka-metadata-quorum", *removal, "--dry-run").good()
    assert "Cannot remove voter" in script("kafka-metadata-quorum", *removal).err
    assert "quorum of its own" in script("kafka-metadata-quorum", "add-controller").err


def test_the_cluster_tool(script: Run) -> None:
    assert script("kafka-cluster", "cluster-id").good().startswith("Cluster ID: ")
    head, row = script("kafka-cluster", "list-endpoints", "--include-fenced-brokers").good().splitlines()
    assert head.split() == ["ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE"]
    assert (row.split()[0], row.split()[3:]) == ("1", ["null", "unfenced", "broker"])
    assert "Broker ID 7 is not currently registered" in script("kafka-cluster", "unregister", "--id", "7").err


def test_leaders_are_elected_already(script: Run, topic: str, tmp_path: Path) -> None:
    kind = ("--election-type", "preferred")
    one = script("kafka-leader-election", *kind, "--topic", topic, "--partition", "0").good()
    assert one == f"Valid replica already elected for partitions {topic}-0\n"
    assert script("kafka-leader-election", *kind, "--all-topic-partitions").good() == ""
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 1}, {"topic": "nope", "partition": 0}]}))
    failed = script("kafka-leader-election", *kind, "--path-to-json-file", str(plan))
    assert failed.status == 1
    assert "for partition: nope-0: No such topic as nope" in failed.out
    assert "1 replica(s) could not be elected" in failed.err
    assert "One and only one of" in script("kafka-leader-election", *kind).err


# --- reassignment


@pytest.fixture
def two_directories(tmp_path: Path) -> Iterator[Broker]:
    paths = [str(tmp_path / name) for name in ("one", "two")]
    with Broker(data_dir=",".join(paths)) as broker:
        yield broker


def test_a_partition_is_moved_to_another_directory(barnabas: Run, two_directories: Broker, tmp_path: Path) -> None:
    two_directories.create_topic("t", partitions=2)
    plan = tmp_path / "plan.json"

    def reassign(*arguments: str) -> CommandResult:
        servers = ("--bootstrap-server", two_directories.bootstrap_servers)
        return barnabas("kafka-reassign-partitions", *servers, *arguments)

    topics = tmp_path / "topics.json"
    topics.write_text('{"topics": [{"topic": "t"}], "version": 1}')
    generated = reassign("--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1").good()
    current = json.loads(generated.splitlines()[1])
    proposed = json.loads(generated.splitlines()[4])
    assert [each["log_dirs"] for each in proposed["partitions"]] == [["any"], ["any"]]
    (source,) = current["partitions"][0]["log_dirs"]
    target = str(tmp_path / ("two" if source.endswith("one") else "one"))
    entry = {"topic": "t", "partition": 0, "replicas": [1], "log_dirs": [target]}
    plan.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    executed = reassign(
        "--execute", "--reassignment-json-file", str(plan), "--replica-alter-log-dirs-throttle", "100000000"
    ).good()
    assert "Save this to use as the --reassignment-json-file option during rollback" in executed
    assert "The replica-alter-dir throttle limit was set to 100000000 B/s" in executed
    assert "Successfully started partition reassignments for t-0" in executed
    assert f"Successfully started moving log directory to {target} for replica t-0 with broker 1" in executed
    deadline = time.monotonic() + 20
    while True:
        verified = reassign("--verify", "--reassignment-json-file", str(plan)).good()
        if "Reassignment of replica t-0-1 completed successfully." in verified:
            break
        assert time.monotonic() < deadline, verified
    assert "Reassignment of partition t-0 is completed." in verified
    assert "Clearing broker-level throttles on broker 1" in verified
    assert "Clearing topic-level throttles on topic t" in verified
    assert reassign("--list").good() == "No partition reassignments found.\n"
    cancelled = reassign("--cancel", "--reassignment-json-file", str(plan)).good()
    assert "None of the specified partition reassignments are active." in cancelled
    assert "None of the specified partition moves are active." in cancelled


@pytest.mark.parametrize(
    ("partitions", "complaint"),
    [
        ([{"topic": "t", "partition": 0, "replicas": [1, 2]}], "Unknown broker id 2"),
        ([{"topic": "nope", "partition": 0, "replicas": [1]}], "there is no partition nope-0"),
        ([{"topic": "t", "partition": 0, "replicas": []}], "Partition replica list cannot be empty"),
        ([{"topic": "t", "partition": 0, "replicas": [1, 1]}], "may not contain duplicate entries"),
        ([{"topic": "t", "partition": 0, "replicas": [1]}] * 2, "contains duplicate topic partitions"),
        ([{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": []}], "0 log_dirs for 1 replicas"),
        ([], "Partition reassignment list cannot be empty"),
        ([{"topic": "t"}], "cannot be parsed"),
    ],
)
def test_plans_that_cannot_be(script: Run, tmp_path: Path, partitions: list[object], complaint: str) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
    failed = script("kafka-reassign-partitions", "--execute", "--reassignment-json-file", str(plan))
    assert failed.status == 1
    assert complaint in failed.err


# --- client metrics, quotas, credentials, loggers


def test_client_metrics_are_altered_and_deleted(script: Run) -> None:
    altered = script("kafka-client-metrics", "--alter", "--name", "sub", "--metrics", "a,b", "--interval", "1000")
    assert altered.good() == "Altered client metrics config for sub.\n"
    assert script("kafka-client-metrics", "--list").good() == "sub\n"
    described = ["Client metrics configs for sub are:", "  interval.ms=1000", "  match=", "  metrics=a,b"]
    assert script("kafka-client-metrics", "--describe").good().splitlines() == described
    assert script("kafka-configs", "--describe", "--entity-type", "client-metrics").good().splitlines()[1:3] == [
        "  interval.ms=1000 sensitive=false synonyms={DYNAMIC_CLIENT_METRICS_CONFIG:interval.ms=1000}",
        "  metrics=a,b sensitive=false synonyms={DYNAMIC_CLIENT_METRICS_CONFIG:metrics=a,b}",
    ]
    script("kafka-client-metrics", "--alter", "--name", "sub", "--interval", "").good()
    assert "interval.ms=300000" in script("kafka-client-metrics", "--describe", "--name", "sub").good()
    assert script("kafka-client-metrics", "--delete", "--name", "sub").good() == (
        "Deleted client metrics config for sub.\n"
    )
    assert "doesn't exist" in script("kafka-client-metrics", "--describe", "--name", "sub").good()
    named = script("kafka-client-metrics", "--alter", "--generate-name", "--metrics", "a").good()
    name = named.removeprefix("Altered client metrics config for ").rstrip(".\n")
    script("kafka-client-metrics", "--delete", f"--name={name}").good()  # a name may begin with a hyphen


def test_quotas_of_users_and_clients(script: Run) -> None:
    entity = ("--entity-type", "users", "--entity-name", "alice", "--entity-type", "clients", "--entity-default")
    added = script("kafka-configs", "--alter", *entity, "--add-config", "producer_byte_rate=1024,request_percentage=50")
    assert added.good() == "Completed updating config for user alice.\n"
    assert script("kafka-configs", "--describe", *entity).good() == (
        "Quota configs for user-principal 'alice', the default client-id are producer_byte_rate=1024.0,"
        " request_percentage=50.0\n"
    )
    assert script("kafka-configs", "--describe", "--entity-type", "users").good() == ""
    defaults = script("kafka-configs", "--alter", "--client-defaults", "--add-config", "consumer_byte_rate=100000000")
    assert defaults.good() == "Completed updating default config for clients in the cluster.\n"
    assert script("kafka-configs", "--describe", "--entity-type", "clients").good() == (
        "Quota configs for the default client-id are consumer_byte_rate=100000000.0\n"
    )
    removal = ("--delete-config", "producer_byte_rate,request_percentage")
    script("kafka-configs", "--alter", "--user", "alice", "--client-defaults", *removal).good()
    script("kafka-configs", "--alter", "--client-defaults", "--delete-config", "consumer_byte_rate").good()
    assert script("kafka-configs", "--describe", "--entity-type", "clients").good() == ""
    refused = script("kafka-configs", "--alter", "--user", "alice", "--add-config", "nope=1")
    assert "nope is not a setting of 'users'" in refused.err


def test_quotas_of_addresses(script: Run) -> None:
    address = ("--entity-type", "ips", "--entity-name", "127.0.0.9")
    added = script("kafka-configs", "--alter", *address, "--add-config", "connection_creation_rate=10")
    assert added.good() == "Completed updating config for ip 127.0.0.9.\n"
    shown = "Quota configs for ip '127.0.0.9' are connection_creation_rate=10.0\n"
    assert script("kafka-configs", "--describe", "--ip", "127.0.0.9").good() == shown
    script("kafka-configs", "--alter", *address, "--delete-config", "connection_creation_rate").good()
    assert "ips may not" in script("kafka-configs", "--describe", "--ip", "1.2.3.4", "--user", "u").err


def test_credentials_of_users(script: Run) -> None:
    secret = "SCRAM-SHA-256=[iterations=8192,password=bob-secret]"
    assert script("kafka-configs", "--alter", "--user", "bob", "--add-config", secret).good() == (
        "Completed updating config for user bob.\n"
    )
    described = "SCRAM credential configs for user-principal 'bob' are SCRAM-SHA-256=iterations=8192\n"
    assert script("kafka-configs", "--describe", "--user", "bob").good() == described
    script("kafka-configs", "--alter", "--user", "bob", "--delete-config", "SCRAM-SHA-256").good()
    assert script("kafka-configs", "--describe", "--user", "bob").good() == ""
    default = script("kafka-configs", "--alter", "--user-defaults", "--add-config", secret)
    assert "SCRAM credentials cannot be combined" in default.err


def test_levels_of_loggers(script: Run) -> None:
    logger = ("--entity-type", "broker-loggers", "--entity-name", "1")
    script("kafka-configs", "--alter", *logger, "--add-config", "barnabas.cli_test=DEBUG").good()
    assert "  barnabas.cli_test=DEBUG sensitive=false synonyms={}" in (
        script("kafka-configs", "--describe", *logger).good().splitlines()
    )
    script("kafka-configs", "--alter", *logger, "--delete-config", "barnabas.cli_test").good()
