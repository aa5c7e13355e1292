"""Our client with a secured Apache Kafka: TLS, every kind of login, and the error messages when they fail."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from followed_pages import Followed
from kafka_server import KafkaServer
from kafka_tools import KafkaTools
from peers import Peers

from barnabas.cli.main import run
from barnabas.client.cluster import Cluster
from barnabas.client.errors import AuthenticationFailed, BadProperty, ClientError
from barnabas.client.group_offsets import Committed, commit_offsets, fetch_offsets
from barnabas.client.offsets import LATEST
from barnabas.client.properties import client_settings
from barnabas.client.sasl import unsecured_token
from barnabas.client.settings import Login
from barnabas.testing.certificates import KEY_PASSWORD, temporary_certificates

CERTIFICATES: Final = temporary_certificates()
AUTHORITY: Final = str(CERTIFICATES / "authority.pem")
TRUST: Final = {"ssl.truststore.type": "PEM", "ssl.truststore.location": AUTHORITY}
PATIENCE_SECONDS: Final = 60.0
PASSWORD: Final = "wonder-land-1"

_STORE_PASSWORD: Final = ("-storepass", "changeit", "-noprompt")
_MODULES: Final = "org.apache.kafka.common.security"
_JAAS: Final = {
    "plain": f'{_MODULES}.plain.PlainLoginModule required user_alice="{PASSWORD}";',
    "scram-sha-256": f"{_MODULES}.scram.ScramLoginModule required;",
    "scram-sha-512": f"{_MODULES}.scram.ScramLoginModule required;",
    "oauthbearer": f'{_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="kafka";',
}
_UNSECURED: Final = f"{_MODULES}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
_PROPERTIES: Final = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": str(CERTIFICATES / "broker.pem"),
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": AUTHORITY,
    "listener.name.ssl.ssl.client.auth": "required",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "listener.name.sasl_ssl.oauthbearer.sasl.server.callback.handler.class": _UNSECURED,
    "connections.max.reauth.ms": "3000",
    **{f"listener.name.sasl_ssl.{mechanism}.sasl.jaas.config": text for mechanism, text in _JAAS.items()},
}


@pytest.fixture(scope="module")
def kafka(peers: Peers, tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    home = tmp_path_factory.mktemp("guarded")
    server = KafkaServer(peers, home / "data", home, properties=_PROPERTIES, listeners=("SSL", "SASL_SSL"))
    server.format(tools)
    with server:
        tools.run("TopicCommand", "--bootstrap-server", server.bootstrap_servers, "--create", "--topic", "seen")
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            change = ("--alter", "--entity-type", "users", "--entity-name", "alice", "--add-config")
            credential = f"{mechanism}=[iterations=4096,password={PASSWORD}]"
            tools.run("ConfigCommand", "--bootstrap-server", server.bootstrap_servers, *change, credential)
            _wait_for_login(server, mechanism)
        yield server


def _cluster(server: KafkaServer, protocol: str, properties: dict[str, str]) -> Cluster:
    address = {"bootstrap.servers": server.addresses[protocol], "security.protocol": protocol}
    return Cluster(client_settings({**address, **properties}), retry_for_s=5)


def _login(mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    jaas = f'{_MODULES}.{module} required username="alice" password="{password}";'
    return {**TRUST, "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}


def _wait_for_login(server: KafkaServer, mechanism: str) -> None:
    """The broker knows a credential only a moment after it was created."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with _cluster(server, "SASL_SSL", _login(mechanism)) as cluster:
                cluster.topics()
                return
        except AuthenticationFailed:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_passwords_open(kafka: KafkaServer, mechanism: str) -> None:
    with _cluster(kafka, "SASL_SSL", _login(mechanism)) as cluster:
        assert "seen" in cluster.topics()
        assert cluster.offsets([("seen", 0)], LATEST)["seen", 0].offset == 0
        commit_offsets(cluster, f"group-{mechanism}", {("seen", 0): (0, mechanism)})
        assert fetch_offsets(cluster, f"group-{mechanism}", None) == {("seen", 0): Committed(0, mechanism, -1)}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_wrong_passwords_do_not(kafka: KafkaServer, mechanism: str) -> None:
    with (
        _cluster(kafka, "SASL_SSL", _login(mechanism, "guessed")) as cluster,
        pytest.raises(AuthenticationFailed, match=r"refuses the login: Authentication failed.*; check sasl\.username"),
    ):
        cluster.topics()


def test_unsecured_tokens_open_where_they_are_accepted(kafka: KafkaServer) -> None:
    jaas = f'{_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";'
    bearer = {**TRUST, "sasl.mechanism": "OAUTHBEARER"}
    with _cluster(kafka, "SASL_SSL", {**bearer, "sasl.jaas.config": jaas}) as cluster:
        assert "seen" in cluster.topics()
    expired = unsecured_token(Login("OAUTHBEARER", unsecured_claims=(("sub", "alice"),)), time.time() - 7200)
    with (
        _cluster(kafka, "SASL_SSL", {**bearer, "sasl.oauthbearer.token": expired}) as cluster,
        pytest.raises(AuthenticationFailed, match=r"invalid_token.*; get a fresh token"),
    ):
        cluster.topics()


def test_a_session_is_reauthenticated_before_it_expires(kafka: KafkaServer) -> None:
    """Otherwise the broker would close the connection between our requests."""
    with _cluster(kafka, "SASL_SSL", _login("SCRAM-SHA-512")) as cluster:
        cluster.retry_for_s = 0  # so that nothing is asked twice
        first = cluster.connection(cluster.leader("seen", 0))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while cluster.connection(cluster.leader("seen", 0)) is first:
            assert time.monotonic() < deadline
            assert "seen" in cluster.topics()


def test_certificates_open(kafka: KafkaServer) -> None:
    own = {"ssl.keystore.location": str(CERTIFICATES / "client-encrypted.pem"), "ssl.key.password": KEY_PASSWORD}
    with _cluster(kafka, "SSL", {**TRUST, **own}) as cluster:
        assert "seen" in cluster.topics()
    with _cluster(kafka, "SSL", TRUST) as cluster, pytest.raises(ClientError) as caught:
        cluster.topics()
    assert "client certificate" in caught.value.hint or isinstance(caught.value, ConnectionError)


def test_a_broker_that_is_not_trusted_is_not_talked_to(kafka: KafkaServer) -> None:
    with _cluster(kafka, "SSL", {}) as cluster, pytest.raises(AuthenticationFailed, match="is not trusted"):
        cluster.topics()


@pytest.mark.parametrize(
    ("listener", "spoken", "hint"),
    [
        ("PLAINTEXT", "SSL", "security.protocol"),
        ("PLAINTEXT", "SASL_PLAINTEXT", "security.protocol"),
        ("SSL", "PLAINTEXT", "security.protocol"),
        ("SASL_SSL", "SSL", "wants a login"),
    ],
)
def test_the_wrong_protocol_is_named(kafka: KafkaServer, listener: str, spoken: str, hint: str) -> None:
    address = kafka.addresses.get(listener, kafka.bootstrap_servers)
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": PASSWORD}
    settings = client_settings({"bootstrap.servers": address, "security.protocol": spoken, **TRUST, **login})
    with Cluster(settings, retry_for_s=0) as cluster, pytest.raises(ClientError) as caught:
        cluster.topics()
    assert hint in caught.value.hint


def test_the_page_about_tls_and_logins(
    kafka: KafkaServer,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    followed: Followed,
) -> None:
    """Its commands convert Java's stores, and with its properties the scripts connect."""
    monkeypatch.chdir(tmp_path)
    conversions, properties_of_the_page = followed("docs/client-security.md")
    _keytool("-importcert", "-file", AUTHORITY, "-keystore", "trust.jks", "-storetype", "JKS", *_STORE_PASSWORD)
    shutil.copy(CERTIFICATES / "client.p12", "own.p12")
    typed = {"keytool": "changeit", "openssl": f"{KEY_PASSWORD} new-phrase new-phrase"}
    ((to_pem, _), (own_to_pem, _)) = conversions.commands
    for command in (to_pem, own_to_pem):
        _type(command, typed[command.split()[0]])

    login = properties_of_the_page.text.replace("/etc/kafka/authority.pem", "trust.pem").replace("secret", PASSWORD)
    keystore = "ssl.keystore.type=PEM\nssl.keystore.location=own.pem\nssl.key.password=new-phrase\n"
    trust = "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=trust.pem\n"
    for protocol, properties in (("SASL_SSL", login), ("SSL", trust + keystore)):
        Path("client.properties").write_text(properties)
        address = ("--bootstrap-server", kafka.addresses[protocol], "--command-config", "client.properties")
        assert run(["kafka-topics", *address, "--describe", "--topic", "seen"]) == 0
        assert "Topic: seen" in capfd.readouterr().out


def test_the_checker_of_the_page_about_testing(kafka: KafkaServer, tmp_path: Path, followed: Followed) -> None:
    replaced = {
        "--bootstrap kafka-1:9093": f"--minutes 0.05 --directory . --bootstrap {kafka.addresses['SASL_SSL']}",
        "sasl.username=me": "sasl.username=alice",
        "sasl.password=...": f"sasl.password={PASSWORD} --config ssl.ca.location={AUTHORITY}",
    }
    (block,) = followed("docs/testing.md")
    (command,) = [each for each, _ in block.with_other_text(replaced).commands if "SASL_SSL" in each]
    assert all(new in command for new in replaced.values())
    words = command.split()
    assert words[0] == "python"
    done = subprocess.run([sys.executable, *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_the_commands_in_our_error_convert_java_stores_to_pem(kafka: KafkaServer, tmp_path: Path, kind: str) -> None:
    trust, own = tmp_path / f"trust.{kind.lower()}", tmp_path / f"own.{kind.lower()}"
    stores = ("-storetype", kind, *_STORE_PASSWORD)
    _keytool("-importcert", "-file", AUTHORITY, "-alias", "authority", "-keystore", trust, *stores)
    source = ("-srckeystore", CERTIFICATES / "client.p12", "-srcstorepass", KEY_PASSWORD)
    target = ("-destkeystore", own, "-deststoretype", kind, "-deststorepass", "changeit", "-destkeypass", "changeit")
    _keytool("-importkeystore", "-srcalias", "1", *source, *target, "-noprompt")

    _run_the_advice({"ssl.truststore.type": kind, "ssl.truststore.location": str(trust)}, "changeit")
    own_store = {"ssl.keystore.type": kind, "ssl.keystore.location": str(own)}
    if kind == "JKS":
        _run_the_advice(own_store, "between between changeit", "between new-phrase new-phrase")
    else:
        _run_the_advice(own_store, "changeit new-phrase new-phrase")
    properties = {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tmp_path / "trust.pem"),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(tmp_path / "own.pem"),
        "ssl.key.password": "new-phrase",
    }
    with _cluster(kafka, "SSL", properties) as cluster:
        assert "seen" in cluster.topics()


def _keytool(*arguments: object) -> None:
    subprocess.run(["keytool", *map(str, arguments)], check=True, capture_output=True)


def _run_the_advice(properties: dict[str, str], *typed: str) -> None:
    """Run the commands in the error message, with this input for each."""
    with pytest.raises(BadProperty) as caught:
        client_settings({"bootstrap.servers": "x:1", "security.protocol": "SSL", **properties})
    commands = caught.value.hint.removeprefix("run: ").partition(" - then set ")[0].split(" && ")
    for command, words in zip(commands, typed, strict=True):
        _type(command, words)


def _type(command: str, words: str) -> None:
    """Run it with this input, a word in each line: without a terminal, passwords are read from there."""
    lines = "".join(f"{word}\n" for word in words.split())
    subprocess.run(command, shell=True, check=True, input=lines, text=True, capture_output=True, start_new_session=True)
