"""Profiles with TLS and logins: for the commands on librdkafka, and for those on our own client."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_kafka import FakeKafka, Logins, serve_plainly

from barnabas.cli.main import run
from barnabas.testing.certificates import KEY_PASSWORD, make_certificates

Write = Callable[[FakeKafka, str], None]

PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
USERS = {"alice": 'wonder"land', "a-token": ""}


@pytest.fixture
def write_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    file = tmp_path / "profiles.conf"
    monkeypatch.setenv("BARNABAS_PROFILES", str(file))
    return lambda listener, text: void(file.write_text(f"[p]\nbootstrap.servers={listener.bootstrap_servers}\n{text}"))


def void(_: object) -> None:
    return None


LOGINS = {
    "jaas": f'sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN_LOGIN} username="alice" password="wonder\\\\"land";\n',
    "scram": 'sasl.mechanism=SCRAM-SHA-256\nsasl.username=alice\nsasl.password=wonder"land\n',
    "token": "sasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token=a-token\n",
}


@pytest.mark.clients
@pytest.mark.parametrize("login", LOGINS)
def test_logins(write_profile: Write, capfd: pytest.CaptureFixture[str], login: str) -> None:
    logins = Logins(USERS, ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"))
    with FakeKafka(logins.serve) as listener:
        write_profile(listener, f"security.protocol=SASL_PLAINTEXT\n{LOGINS[login]}")
        assert run(["--profile", "p", "topic", "list"]) == 0, capfd.readouterr().err
    assert set(logins.logged_in) == {"a-token" if login == "token" else "alice"}
    with FakeKafka(logins.serve) as listener:  # of a cluster without topics, by our own client
        write_profile(listener, f"security.protocol=SASL_PLAINTEXT\n{LOGINS[login]}")
        logins.logged_in.clear()
        assert run(["--profile", "p", "config", "get", "--topic", "x"]) == 1
    assert "there is no topic x" in capfd.readouterr().err
    assert logins.logged_in


@pytest.mark.clients
@pytest.mark.parametrize("key", ["client.pem", "client-encrypted.pem"])
def test_tls_with_a_key_of_our_own(
    write_profile: Write, tmp_path: Path, capfd: pytest.CaptureFixture[str], key: str
) -> None:
    made = make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made / "broker.pem")
    context.load_verify_locations(made / "authority.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with FakeKafka(serve_plainly, tls=context) as listener:
        write_profile(
            listener,
            "security.protocol=SSL\nssl.truststore.type=PEM\nssl.keystore.type=PEM\nssl.enabled.protocols=TLSv1.3\n"
            f"ssl.truststore.location={made}/authority.pem\nssl.keystore.location={made}/{key}\n"
            f"ssl.key.password={KEY_PASSWORD}\n",
        )
        assert run(["topic", "list", "--profile", "p"]) == 0, capfd.readouterr().err
        assert run(["config", "get", "--topic", "x", "--profile", "p"]) == 1
    assert "there is no topic x" in capfd.readouterr().err


def test_a_store_of_java_is_refused_with_the_way_out(write_profile: Write, capfd: pytest.CaptureFixture[str]) -> None:
    with FakeKafka(serve_plainly) as listener:
        write_profile(listener, "security.protocol=SSL\nssl.truststore.type=JKS\nssl.truststore.location=trust.jks\n")
        assert run(["topic", "list", "--profile", "p"]) == 1
    stderr = capfd.readouterr().err
    assert "JKS stores are not read, only PEM" in stderr
    assert "keytool -list -rfc" in stderr
