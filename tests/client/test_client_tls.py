"""TLS against a listener with its own certificates: what is trusted, what is not, and the error messages."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_kafka import FakeKafka, Logins, serve_plainly

from barnabas.client.cluster import Cluster
from barnabas.client.errors import AuthenticationFailed, BadAnswer, BadProperty, ClientError
from barnabas.client.properties import client_settings
from barnabas.testing import Broker
from barnabas.testing.certificates import KEY_PASSWORD, temporary_certificates

CERTIFICATES = temporary_certificates()
AUTHORITY = str(CERTIFICATES / "authority.pem")
TRUST = {"ssl.truststore.type": "PEM", "ssl.truststore.location": AUTHORITY}
CLIENT_PEM = (CERTIFICATES / "client.pem").read_text()


def server_side(certificate: str = "broker.pem", *, wants_certificate: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / certificate)
    if wants_certificate:
        context.load_verify_locations(AUTHORITY)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.fixture(scope="module")
def listener() -> Iterator[FakeKafka]:
    with FakeKafka(serve_plainly, tls=server_side()) as running:
        yield running


@pytest.fixture(scope="module")
def strict_listener() -> Iterator[FakeKafka]:
    """Requires a client certificate."""
    with FakeKafka(serve_plainly, tls=server_side(wants_certificate=True)) as running:
        yield running


def cluster(servers: str, properties: dict[str, str]) -> Cluster:
    return Cluster(
        client_settings({"bootstrap.servers": servers, "security.protocol": "SSL", **properties}), retry_for_s=0
    )


@pytest.mark.parametrize(
    "properties",
    [
        TRUST,
        {"ssl.truststore.location": AUTHORITY},  # Java would take it for JKS; it is PEM
        {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": Path(AUTHORITY).read_text()},
        {"ssl.ca.location": AUTHORITY},
        # What a properties file with continued lines leaves of PEM.
        {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": " ".join(Path(AUTHORITY).read_text().split("\n")),
        },
        {**TRUST, "ssl.enabled.protocols": "TLSv1.2"},
        {**TRUST, "ssl.enabled.protocols": "TLSv1.1,TLSv1.3"},
    ],
)
def test_a_trusted_broker_is_talked_to(listener: FakeKafka, properties: dict[str, str]) -> None:
    with cluster(listener.bootstrap_servers, properties) as connected:
        assert connected.topics() == {}
        before = listener.connections  # connections of earlier tests were accepted before this one
        # Session tickets of TLS 1.3 are not taken for a closed connection.
        assert connected.topics() == {}
        assert listener.connections == before


def test_logins_go_through_tls() -> None:
    logins = Logins({"alice": "secret"}, ("SCRAM-SHA-512",))
    with FakeKafka(logins.serve, tls=server_side()) as listener:
        login = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "alice", "sasl.password": "secret"}
        with cluster(listener.bootstrap_servers, {"security.protocol": "SASL_SSL", **TRUST, **login}) as connected:
            assert connected.topics() == {}
    assert logins.logged_in == ["alice"]


def test_a_broker_that_nobody_vouches_for_is_not_talked_to(listener: FakeKafka) -> None:
    with (
        cluster(listener.bootstrap_servers, {}) as connected,
        pytest.raises(AuthenticationFailed, match=r"is not trusted: .*; set ssl\.truststore\.location"),
    ):
        connected.topics()


def test_a_certificate_for_another_name_is_not_accepted_unless_names_do_not_matter() -> None:
    with FakeKafka(serve_plainly, tls=server_side("elsewhere.pem")) as listener:
        with (
            cluster(listener.bootstrap_servers, TRUST) as connected,
            pytest.raises(AuthenticationFailed, match=r"another name: .* set ssl\.endpoint\.identification\.algorithm"),
        ):
            connected.topics()
        unchecked = {**TRUST, "ssl.endpoint.identification.algorithm": ""}
        with cluster(listener.bootstrap_servers, unchecked) as connected:
            assert connected.topics() == {}
        # The host name is not checked, but the certificate is.
        with (
            cluster(listener.bootstrap_servers, {"ssl.endpoint.identification.algorithm": ""}) as connected,
            pytest.raises(AuthenticationFailed, match="is not trusted"),
        ):
            connected.topics()


@pytest.mark.parametrize(
    "properties",
    [
        {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(CERTIFICATES / "client.pem")},
        {
            "ssl.keystore.location": str(CERTIFICATES / "client-encrypted.pem"),
            "ssl.key.password": KEY_PASSWORD,
        },
        {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": CLIENT_PEM[: CLIENT_PEM.index("-----BEGIN CERTIFICATE")],
            "ssl.keystore.certificate.chain": CLIENT_PEM[CLIENT_PEM.index("-----BEGIN CERTIFICATE") :],
        },
        {
            "ssl.keystore.key": CLIENT_PEM[: CLIENT_PEM.index("-----BEGIN CERTIFICATE")].replace("\n", ""),
            "ssl.keystore.certificate.chain": CLIENT_PEM[CLIENT_PEM.index("-----BEGIN CERTIFICATE") :].replace(
                "\n", " "
            ),
        },
        {
            "ssl.certificate.location": str(CERTIFICATES / "client.pem"),
            "ssl.key.location": str(CERTIFICATES / "client.pem"),
        },
    ],
)
def test_our_certificate_is_shown(strict_listener: FakeKafka, properties: dict[str, str]) -> None:
    with cluster(strict_listener.bootstrap_servers, {**TRUST, **properties}) as connected:
        assert connected.topics() == {}


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_who_must_show_a_certificate_and_does_not_is_told(strict_listener: FakeKafka, version: str) -> None:
    with (
        cluster(strict_listener.bootstrap_servers, {**TRUST, "ssl.enabled.protocols": version}) as connected,
        pytest.raises(ClientError) as caught,
    ):
        connected.topics()
    # If a listener resets the connection right after its alert, the alert may be lost.
    assert isinstance(caught.value, AuthenticationFailed | ConnectionError)
    if isinstance(caught.value, AuthenticationFailed):
        assert "ssl.keystore" in caught.value.hint


@pytest.mark.parametrize(
    ("password", "problem"), [(None, "the key is encrypted"), ("guessed", "it is not the pass phrase")]
)
def test_a_key_that_cannot_be_opened_is_told(listener: FakeKafka, password: str | None, problem: str) -> None:
    own = {"ssl.keystore.location": str(CERTIFICATES / "client-encrypted.pem")}
    if password is not None:
        own["ssl.key.password"] = password
    with (
        cluster(listener.bootstrap_servers, {**TRUST, **own}) as connected,
        pytest.raises(BadProperty, match=rf"ssl\.key\.password: {problem}.*; set it to the right pass phrase"),
    ):
        connected.topics()


def test_files_that_are_not_there_or_not_pem_are_named(listener: FakeKafka, tmp_path: Path) -> None:
    empty, jks = tmp_path / "empty.pem", tmp_path / "old.jks"
    empty.write_text("nothing")
    jks.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    for properties, message in (
        ({"ssl.truststore.location": str(tmp_path / "gone.pem")}, r"gone\.pem cannot be read: No such file"),
        ({"ssl.truststore.location": str(empty)}, r"ssl\.truststore\.location: there is no PEM certificate in it"),
        (
            {"ssl.truststore.location": str(jks)},
            r"keytool -list -rfc -storetype JKS -keystore \S+old\.jks > \S+old\.pem",
        ),
        ({**TRUST, "ssl.keystore.location": str(empty)}, r"key and certificate cannot be read"),
        ({**TRUST, "ssl.keystore.location": str(CERTIFICATES / "client.p12")}, r"openssl pkcs12 -in \S+client\.p12"),
    ):
        with cluster(listener.bootstrap_servers, properties) as connected, pytest.raises(BadProperty, match=message):
            connected.topics()


def test_tls_to_a_plain_listener_is_recognised() -> None:
    with (
        Broker() as broker,
        cluster(broker.bootstrap_servers, TRUST) as connected,
        pytest.raises(ClientError, match=r"set security\.protocol to PLAINTEXT"),
    ):
        connected.topics()


def test_a_plain_client_at_a_tls_listener_is_told_to_speak_tls(listener: FakeKafka) -> None:
    with (
        cluster(listener.bootstrap_servers, {"security.protocol": "PLAINTEXT"}) as connected,
        pytest.raises((BadAnswer, ConnectionError)) as caught,
    ):
        connected.topics()
    if isinstance(caught.value, BadAnswer):
        assert "speaks TLS" in str(caught.value)
