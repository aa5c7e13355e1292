"""`barnabas config` and `barnabas cluster` against a broker."""

import json

import pytest
from cli_running import Run

from barnabas.testing import Broker

pytestmark = pytest.mark.clients


@pytest.fixture(autouse=True)
def _server(barnabas_broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARNABAS_BOOTSTRAP_SERVER", barnabas_broker.bootstrap_servers)


def test_settings_of_a_topic(barnabas: Run, barnabas_topic: str) -> None:
    barnabas("topic", "create", barnabas_topic)
    target = ("--topic", barnabas_topic)
    assert "No setting of" in barnabas("config", "get", *target).err
    barnabas("config", "set", *target, "retention.ms=60000", "cleanup.policy=compact").good()
    (row,) = json.loads(barnabas("config", "get", *target, "retention.ms", "--format", "json").good())
    assert row == {"name": "retention.ms", "value": "60000", "source": "dynamic topic", "read_only": False}
    assert barnabas("config", "get", *target).good().splitlines()[1].split()[:2] == ["cleanup.policy", "compact"]
    barnabas("config", "unset", *target, "retention.ms", "cleanup.policy").good()
    assert json.loads(barnabas("config", "get", *target, "--format", "json").good()) == []
    assert len(json.loads(barnabas("config", "get", *target, "--all", "--format", "json").good())) > 30


def test_settings_of_brokers(barnabas: Run) -> None:
    barnabas("config", "set", "--broker-default", "log.retention.ms=1000000").good()
    assert "dynamic default broker" in barnabas("config", "get", "--broker-default").good()
    barnabas("config", "unset", "--broker-default", "log.retention.ms").good()
    assert "listeners" in barnabas("config", "get", "--broker", "1").good()


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["get"], "no topic and no broker is given", "--broker-default"),
        (["get", "--topic", "{topic}x"], "there is no topic {topic}x", "did you mean {topic}?"),
        (["set", "--topic", "{topic}", "retention.m=1"], "has no setting retention.m", "did you mean retention.ms?"),
        (["set", "--topic", "{topic}", "barnabas.archiv=true"], "Unknown topic config name", "barnabas config get"),
        (
            ["set", "--topic", "{topic}", "barnabas.archive.enable=true"],
            "set barnabas.archive.dir",
            "barnabas config get",
        ),
        (["set", "--topic", "{topic}", "cleanup.policy=soon"], "Invalid value soon", "barnabas config get"),
        (["set", "--topic", "{topic}", "retention.ms"], "KEY=VALUE", "write it like"),
        (["get", "--broker", "9"], "there is no broker 9", "barnabas cluster describe"),
    ],
)
def test_mistakes_end_with_the_next_step(
    barnabas: Run, barnabas_topic: str, arguments: list[str], message: str, hint: str
) -> None:
    barnabas("topic", "create", barnabas_topic)
    failed = barnabas("config", *(text.format(topic=barnabas_topic) for text in arguments))
    assert failed.status == 1
    error, _, next_step = failed.err.partition("hint: ")
    assert message.format(topic=barnabas_topic) in error
    assert hint.format(topic=barnabas_topic) in next_step


def test_the_cluster(barnabas: Run, barnabas_broker: Broker) -> None:
    described = json.loads(barnabas("cluster", "describe", "--format", "json").good())
    assert [broker["broker"] for broker in described["brokers"]] == [described["controller"]] == [1]
    assert [row["path"] for row in described["log_dirs"]] == [barnabas_broker.data_dir]
    assert "metadata.version" in [row["feature"] for row in described["features"]]
    assert {"broker": 1, "key": 18, "api": "ApiVersions", "min": 0, "max": 4} in described["api_versions"]
    table = barnabas("cluster", "describe").good()
    assert table.startswith(f"Cluster {described['cluster_id']}, controller 1\n")
    assert "ApiVersions" not in table
    assert "ApiVersions" in barnabas("cluster", "describe", "--api-versions").good()
