"""kafka-configs, kafka-get-offsets, kafka-delete-records, kafka-log-dirs, kafka-broker-api-versions."""

import json
from pathlib import Path

import pytest
from cli_running import Run

from barnabas.cli.kafka.configs import parse_additions
from barnabas.cli.kafka.options import UsageError
from barnabas.wire.api_table import APIS, TELEMETRY_KEYS

pytestmark = pytest.mark.clients


@pytest.fixture
def topic(script: Run, barnabas_topic: str) -> str:
    script("kafka-topics", "--create", "--topic", barnabas_topic, "--partitions", "2").good()
    return barnabas_topic


def test_settings_of_a_topic(script: Run, topic: str, tmp_path: Path) -> None:
    entity = ("--entity-type", "topics", "--entity-name", topic)
    altered = script(
        "kafka-configs", *entity, "--alter", "--add-config", "retention.ms=60000,cleanup.policy=[compact,delete]"
    )
    assert altered.good() == f"Completed updating config for topic {topic}.\n"
    assert script("kafka-configs", *entity, "--describe").good().splitlines() == [
        f"Dynamic configs for topic {topic} are:",
        "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, "
        "DEFAULT_CONFIG:log.cleanup.policy=delete}",
        "  retention.ms=60000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=60000}",
    ]
    assert len(script("kafka-configs", "--topic", topic, "--describe", "--all").good().splitlines()) > 30
    file = tmp_path / "settings.properties"
    file.write_text("segment.bytes=1048576\n")
    script("kafka-configs", "--topic", topic, "--alter", "--add-config-file", str(file)).good()
    script("kafka-configs", "--topic", topic, "--alter", "--delete-config", "retention.ms,cleanup.policy").good()
    (setting,) = script("kafka-configs", "--topic", topic, "--describe").good().splitlines()[1:]
    assert setting.startswith("  segment.bytes=1048576 ")
    missing = script("kafka-configs", "--topic", f"{topic}x", "--describe").good()
    assert missing == f"The topic '{topic}x' doesn't exist and doesn't have dynamic config.\n"
    refused = script("kafka-configs", "--topic", topic, "--alter", "--add-config", "nonsense=1")
    assert refused.status == 1
    assert "Unknown topic config name: nonsense" in refused.err


def test_settings_of_brokers(script: Run) -> None:
    default = ("--entity-type", "brokers", "--entity-default")
    altered = script("kafka-configs", *default, "--alter", "--add-config", "log.retention.ms=1000000").good()
    assert altered == "Completed updating default config for brokers in the cluster.\n"
    described = script("kafka-configs", "--broker-defaults", "--describe").good().splitlines()
    assert described[0] == "Default configs for brokers in the cluster are:"
    assert described[1].startswith(
        "  log.retention.ms=1000000 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:"
    )
    script("kafka-configs", "--broker-defaults", "--alter", "--delete-config", "log.retention.ms").good()
    both = script("kafka-configs", "--entity-type", "brokers", "--describe").good().splitlines()
    assert both == [
        "Dynamic configs for broker 1 are:",
        "Default configs for brokers in the cluster are:",
        # With eligible leader replicas there is a cluster-wide value.
        "  min.insync.replicas=1 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=1}",
    ]
    assert "  listeners=" in script("kafka-configs", "--broker", "1", "--describe", "--all").good()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--describe"], "At least one entity"),
        (["--alter", "--topic", "t"], "At least one of --add-config"),
        (
            ["--describe", "--entity-type", "users", "--entity-type", "topics"],
            "cannot be combined with other entity types",
        ),
        (["--describe", "--entity-type", "things"], "Invalid entity type things"),
        (["--describe", "--broker", "one"], "valid integer broker id"),
        (["--alter", "--entity-type", "topics", "--add-config", "a=b"], "An entity name must be specified"),
        (["--alter", "--describe", "--topic", "t"], "exactly one action"),
    ],
)
def test_settings_that_cannot_be_meant(barnabas: Run, arguments: list[str], words: str) -> None:
    failed = barnabas("kafka-configs", "--bootstrap-server", "localhost:1", *arguments)
    assert failed.status == 1
    assert words in failed.err


def test_values_with_commas_stand_in_brackets() -> None:
    assert parse_additions("a=1,b=[x,y],c=") == {"a": "1", "b": "x,y", "c": ""}
    assert parse_additions("a = 1") == {"a": "1"}
    for text in ("a", "a=1=2", "a b=1"):
        with pytest.raises(UsageError):
            parse_additions(text)


def test_offsets(script: Run, topic: str) -> None:
    lines = "".join(f"value-{number}\n" for number in range(5))
    script(
        "kafka-console-producer", "--topic", topic, "--command-property", "partitioner=consistent", stdin=lines
    ).good()

    def offsets(*arguments: str) -> list[str]:
        return script("kafka-get-offsets", *arguments).good().splitlines()

    ends = offsets("--topic", topic)
    assert [line.rpartition(":")[0] for line in ends] == [f"{topic}:0", f"{topic}:1"]
    assert sum(int(line.rpartition(":")[2]) for line in ends) == 5
    assert offsets("--topic", topic, "--time", "earliest") == [f"{topic}:0:0", f"{topic}:1:0"]
    assert offsets("--topic", topic, "--time", "-2", "--partitions", "1") == [f"{topic}:1:0"]
    assert offsets("--topic-partitions", f"{topic}:1-,nothing:0") == ends[1:]
    assert offsets("--topic-partitions", f"{topic}:-1") == ends[:1]
    assert offsets("--topic", topic, "--time", "9999999999999") == []
    assert set(ends) <= set(offsets("--exclude-internal-topics"))
    nothing = script("kafka-get-offsets", "--topic", f"{topic}x")
    assert nothing.status == 1
    assert nothing.err.startswith("Error occurred: Could not match any topic-partitions with the specified filters")
    assert "Malformed time argument foo" in script("kafka-get-offsets", "--time", "foo").err


def test_deleting_records(script: Run, topic: str, tmp_path: Path) -> None:
    script("kafka-console-producer", "--topic", topic, stdin="a\nb\nc\n").good()
    wanted = tmp_path / "offsets.json"
    rows = [{"topic": topic, "partition": index, "offset": -1} for index in (0, 1)]
    rows += [{"topic": topic, "partition": 7, "offset": 1}]
    wanted.write_text(json.dumps({"partitions": rows, "version": 1}))
    done = script("kafka-delete-records", "--offset-json-file", str(wanted)).good().splitlines()
    assert done[:2] == ["Executing records delete operation", "Records delete operation completed:"]
    ends = [line.split(":")[2] for line in script("kafka-get-offsets", "--topic", topic).good().splitlines()]
    assert done[2:4] == [f"partition: {topic}-{index}\tlow_watermark: {end}" for index, end in enumerate(ends)]
    assert done[4] == f"partition: {topic}-7\terror: This server does not host this topic-partition."
    for content in ("", "{}", '{"partitions": [], "version": 1}', '{"partitions": [{"topic": "a"}]}'):
        wanted.write_text(content)
        assert script("kafka-delete-records", "--offset-json-file", str(wanted)).status == 1


def test_log_directories(script: Run, topic: str) -> None:
    first, second, last = script("kafka-log-dirs", "--describe", "--topic-list", topic).good().splitlines()
    assert first == "Querying brokers for log directories information"
    assert second == "Received log directory information from brokers 1"
    (broker,) = json.loads(last)["brokers"]
    (directory,) = broker["logDirs"]
    assert [partition["partition"] for partition in directory["partitions"]] == [f"{topic}-0", f"{topic}-1"]
    assert directory["error"] is None
    unknown = script("kafka-log-dirs", "--describe", "--broker-list", "7")
    assert unknown.status == 1
    assert "do not exist from --broker-list: 7" in unknown.err


def test_api_versions(script: Run) -> None:
    first, *lines, last = script("kafka-broker-api-versions").good().splitlines()
    assert first.endswith("(id: 1 rack: null isFenced: false) -> (")
    assert last == ")"
    assert lines[0] == "\tProduce(0): 0 to 13 [usable: 13],"
    assert len([line for line in lines if "[usable: " in line]) == len(APIS) - len(TELEMETRY_KEYS)
    assert "\tSaslHandshake(17): UNSUPPORTED," in lines or "\tSaslHandshake(17): 0 to 1 [usable: 1]," in lines


def test_settings_of_the_connection(script: Run, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("client.id=somebody\nrequest.timeout.ms=5000\n")
    script("kafka-topics", "--list", "--command-config", str(file)).good()
    for properties, message in (
        ("security.protocol=SASL_SSL", "default, GSSAPI, is not supported by this client\nhint: use one of PLAIN"),
        ("security.protocol=SSL", "hint: if it is not a TLS listener, set security.protocol to PLAINTEXT"),
        ("request.timeout.ms=soon", "request.timeout.ms: 'soon' is not a number of milliseconds\nhint: write"),
    ):
        file.write_text(f"{properties}\n")
        refused = script("kafka-log-dirs", "--describe", "--command-config", str(file))
        assert refused.status == 1
        assert message in refused.err
