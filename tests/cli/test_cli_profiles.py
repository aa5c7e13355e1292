"""Which cluster a command talks to: flags, the environment, and profiles."""

from pathlib import Path

import pytest
from cli_running import Run

from barnabas.cli.cluster_access import ClusterAccess, choose_access
from barnabas.cli.errors import CommandFailed
from barnabas.cli.profiles import profiles_path
from barnabas.testing import Broker

PROFILES = """\
# the clusters of this house
[default]
bootstrap.servers=default:1
sasl.password=of-default

[ prod ]
bootstrap.servers = prod-1:9093,\\
    prod-2:9093
security.protocol=SASL_SSL
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="[b]";

[only-settings]
client.id: me
"""


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "barnabas" / "profiles.conf"
    file.parent.mkdir()
    file.write_text(PROFILES)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("BARNABAS_PROFILES", "BARNABAS_BOOTSTRAP_SERVER", "BARNABAS_CONNECTION_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return file


@pytest.mark.parametrize(
    ("flags", "environment", "servers", "password"),
    [
        ((None, None), {}, "default:1", "of-default"),
        ((None, None), {"BARNABAS_CONNECTION_PROFILE": "prod"}, "prod-1:9093,prod-2:9093", "[b]"),
        ((None, None), {"BARNABAS_BOOTSTRAP_SERVER": "env:1"}, "env:1", None),
        (
            (None, None),
            {"BARNABAS_BOOTSTRAP_SERVER": "env:1", "BARNABAS_CONNECTION_PROFILE": "prod"},
            "env:1",
            None,
        ),
        ((None, "prod"), {"BARNABAS_BOOTSTRAP_SERVER": "env:1"}, "prod-1:9093,prod-2:9093", "[b]"),
        (("flag:1", None), {"BARNABAS_CONNECTION_PROFILE": "prod"}, "flag:1", None),
        (("flag:1", "prod"), {"BARNABAS_BOOTSTRAP_SERVER": "env:1"}, "flag:1", "[b]"),
        ((None, "only-settings"), {}, "localhost:9092", None),
        ((None, "only-settings"), {"BARNABAS_BOOTSTRAP_SERVER": "env:1"}, "env:1", None),
    ],
)
def test_the_first_that_says_where_counts_and_no_password_goes_astray(
    profiles: Path,
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str | None, str | None],
    environment: dict[str, str],
    servers: str,
    password: str | None,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    access = choose_access(*flags, None)
    assert access.servers == servers
    assert (password is None) == ("password" not in str(access.properties))
    assert password is None or password in str(access.properties)


def test_settings_of_the_command_line_win(profiles: Path) -> None:
    access = choose_access(None, "prod", ["security.protocol=PLAINTEXT", "request.timeout.ms=5s"])
    assert access.overrides == {"security.protocol": "PLAINTEXT", "request.timeout.ms": "5000"}
    assert access.properties["security.protocol"] == "PLAINTEXT"


def test_without_a_file_there_is_localhost(profiles: Path) -> None:
    profiles.unlink()
    assert choose_access(None, None, None) == ClusterAccess("localhost:9092", {}, {})


@pytest.mark.parametrize(
    ("text", "profile", "error", "hint"),
    [
        (PROFILES, "prood", "has no profile prood", "did you mean prod?"),
        (PROFILES, "xyz", "has no profile xyz", "it has default, prod, only-settings"),
        ("", "prod", "has no profile prod", r"like \[local\]"),
        ("a=b\n[prod]", "prod", "line 1: a setting outside of any profile", r"like \[local\]"),
        ("[prod]\n\n[prod]", "prod", r"line 3: there are two profiles \[prod\]", "keep one"),
        (
            "[prod]\nsecurity.protocl=SSL",
            "prod",
            "no Kafka client has a setting security.protocl",
            "security.protocol?",
        ),
        ("[prod]\nclient.id=\\u00zz", "prod", r"\[prod\]: Malformed", "backslash"),
        (None, "prod", "there is no profile prod", r"write \[prod\]"),
    ],
)
def test_mistakes_in_the_file(profiles: Path, text: str | None, profile: str, error: str, hint: str) -> None:
    if text is None:
        profiles.unlink()
    else:
        profiles.write_text(text)
    with pytest.raises(CommandFailed, match=error) as failed:
        choose_access(None, profile, None)
    assert str(profiles) in failed.value.message
    with pytest.raises(CommandFailed, match=hint):
        raise CommandFailed(failed.value.hint)


def test_another_file_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARNABAS_PROFILES", "/some/where")
    assert profiles_path() == "/some/where"


@pytest.mark.clients
@pytest.mark.parametrize("flag", [("-b", "{servers}"), ("--bootstrap-server={servers}",), ("--profile", "here")])
def test_flags_before_a_command_and_after_it_are_the_same(
    barnabas: Run, barnabas_broker: Broker, barnabas_topic: str, profiles: Path, flag: tuple[str, ...]
) -> None:
    servers = barnabas_broker.bootstrap_servers
    # Settings of the Java client that librdkafka lacks are no mistake.
    profiles.write_text(f"[here]\nbootstrap.servers={servers}\nmax.block.ms=9\nmetric.reporters=x\nssl.provider=y\n")
    flags = [text.format(servers=servers) for text in flag]
    barnabas(*flags, "topic", "create", barnabas_topic).good()
    assert barnabas(*flags, "produce", barnabas_topic, stdin="x\n").status == 0
    assert barnabas("consume", barnabas_topic, "--from-beginning", "-n", "1", *flags).out == "x\n"
    assert barnabas_topic in barnabas(*flags, "topic", "list").good()
    assert barnabas_topic in barnabas("topic", "list", *flags).good()
    assert "retention.ms" in barnabas(*flags, "config", "get", "--topic", barnabas_topic, "retention.ms").good()
    if flag[0] != "--profile":
        assert barnabas_topic in barnabas(*flags, "kafka-topics.sh", "--list").good()
