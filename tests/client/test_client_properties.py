"""Kafka's client properties become settings, or a clear error."""

import pickle

import pytest

from barnabas.client import jaas
from barnabas.client.errors import BadProperty, Refused
from barnabas.client.properties import client_settings, parse_address, unknown
from barnabas.client.settings import READ_COMMITTED, Login
from barnabas.wire.errors import ErrorCode

SERVERS = {"bootstrap.servers": "one:9092,two"}
PLAIN = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}


def test_settings_are_those_of_kafka_and_travel() -> None:
    settings = client_settings(
        {
            **SERVERS,
            "client.id": "me",
            "request.timeout.ms": "1500",
            "default.api.timeout.ms": "2500",
            "isolation.level": "read_committed",
            "connections.max.idle.ms": "1",
            "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        }
    )
    assert settings.bootstrap == (("one", 9092), ("two", 9092))
    assert settings.bootstrap_servers == "one:9092,two:9092"
    assert (settings.client_id, settings.request_timeout_s, settings.api_timeout_s) == ("me", 1.5, 2.5)
    assert settings.isolation_level == READ_COMMITTED
    assert settings.properties["connections.max.idle.ms"] == "1"
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_secrets_travel_but_are_not_shown() -> None:
    settings = client_settings(
        {
            **SERVERS,
            **PLAIN,
            "sasl.username": "alice",
            "sasl.password": "hush",
            "ssl.key.password": "hush",
            "ssl.keystore.key": "hush",
            "ssl.keystore.certificate.chain": "chain",
        }
    )
    assert "hush" not in repr(settings)
    there = pickle.loads(pickle.dumps(settings))
    assert there == settings
    assert there.security.login == Login("PLAIN", "alice", "hush")
    assert there.security.tls is not None
    assert there.security.tls.key_password == "hush"
    hash(settings)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost:9093", ("localhost", 9093)),
        (" host ", ("host", 9092)),
        ("[::1]:9094", ("::1", 9094)),
        ("[::1]", ("::1", 9092)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({}, r"bootstrap\.servers: it is missing; give"),
        ({"bootstrap.servers": "host:port"}, r"'host:port' is not an address; write host:port"),
        ({"bootstrap.servers": "host:0"}, "not an address"),
        ({"bootstrap.servers": "::1"}, "not an address"),
        ({**SERVERS, "request.timeout.ms": "soon"}, r"request\.timeout\.ms: 'soon' is not a number of milliseconds"),
        ({**SERVERS, "isolation.level": "serializable"}, "choose one of read_uncommitted, read_committed"),
        (
            {**SERVERS, "security.protocol": "TLS"},
            r"security\.protocol: TLS is not one .* PLAINTEXT, SSL, SASL_PLAINTEXT",
        ),
        ({**SERVERS, "security.protocol": "SASL_SSL"}, "is not set, and its default, GSSAPI, is not supported"),
        ({**SERVERS, **PLAIN, "sasl.mechanism": "AWS_MSK_IAM"}, "AWS_MSK_IAM is not supported .*; use one of PLAIN"),
        ({**SERVERS, **PLAIN}, r"PLAIN needs a username, .*PlainLoginModule required username"),
        ({**SERVERS, **PLAIN, "sasl.username": "alice"}, r"PLAIN needs a password"),
        ({**SERVERS, **PLAIN, "sasl.jaas.config": "alice hush"}, "does not begin with a login module"),
        ({**SERVERS, **PLAIN, "sasl.mechanism": "OAUTHBEARER"}, r"sasl\.oauthbearer\.token: .*; set it to a token"),
        (
            {**SERVERS, **PLAIN, "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "https://x"},
            "fetches no tokens; leave it out",
        ),
        ({**SERVERS, **PLAIN, "sasl.login.class": "a.b.C"}, r"sasl\.login\.class: this client runs no Java classes"),
        (
            {
                **SERVERS,
                "security.protocol": "SSL",
                "ssl.truststore.type": "JKS",
                "ssl.truststore.location": "/a/b.jks",
            },
            r"run: keytool -list -rfc -storetype JKS -keystore /a/b\.jks > /a/b\.pem - then set ssl\.truststore\.type",
        ),
        (
            {**SERVERS, "security.protocol": "SSL", "ssl.keystore.type": "PKCS12", "ssl.keystore.location": "k.p12"},
            r"run: openssl pkcs12 -in k\.p12 -out k\.pem - then set .* ssl\.key\.password",
        ),
        ({**SERVERS, "security.protocol": "SSL", "ssl.keystore.type": "JCEKS"}, "JCEKS is not known; use PEM"),
        (
            {**SERVERS, "security.protocol": "SSL", "ssl.keystore.key": "k"},
            r"ssl\.keystore\.certificate\.chain: it is m",
        ),
        ({**SERVERS, "security.protocol": "SSL", "ssl.enabled.protocols": "SSLv3"}, "too old to be safe; use TLSv1"),
        ({**SERVERS, "security.protocol": "SSL", "ssl.cipher.suites": "X"}, "works only in Java; choose versions"),
        ({**SERVERS, "security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "LDAPS"}, "use https"),
    ],
)
def test_nonsense_is_refused_with_the_next_step(properties: dict[str, str], message: str) -> None:
    with pytest.raises(BadProperty, match=message) as caught:
        client_settings(properties)
    assert caught.value.name in str(caught.value)
    assert "hush" not in str(caught.value)
    there = pickle.loads(pickle.dumps(caught.value))
    assert (there.name, there.problem, there.hint) == (caught.value.name, caught.value.problem, caught.value.hint)


def test_security_settings_without_security_are_passed_over() -> None:
    assert client_settings({**SERVERS, "ssl.truststore.type": "JKS", "sasl.mechanism": "GSSAPI"}).security.tls is None


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('a.b.PlainLoginModule required username="alice" password="a b;c=\\"d\\\\";', ("alice", 'a b;c="d\\')),
        ("a.b.PlainLoginModule Required\n  username=alice\n  password='it is'\n;\n", ("alice", "it is")),
        ('PlainLoginModule required serviceName="x" username = "a" password="";', ("a", "")),
    ],
)
def test_jaas_is_read_as_java_reads_it(text: str, options: tuple[str, str]) -> None:
    found = jaas.parse(text)
    assert found.module == "PlainLoginModule"
    assert (found.options["username"], found.options["password"]) == options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('M required username="alice" password="hush"', "does not end with a semicolon"),
        ('M required username="alice" hush;', "what follows option 1 is not an option"),
        ('M required username="alice;', "not an option"),
        ("hush", "does not begin"),
        ('M maybe username="alice";', "does not begin"),
    ],
)
def test_jaas_that_java_would_not_read_either(text: str, message: str) -> None:
    with pytest.raises(BadProperty, match=message) as caught:
        jaas.parse(text)
    assert "hush" not in str(caught.value)


def test_names_that_no_kafka_client_knows() -> None:
    known = ["acks", "max.poll.records", "sasl.login.class", "ssl.ca.location", "sasl.username", "fetch.min.bytes"]
    assert unknown(known) == {}
    assert unknown(["fetch.min.byte", "isolation_level", "Group.ID", "qwertz"]) == {
        "fetch.min.byte": "fetch.min.bytes",
        "isolation_level": "isolation.level",
        "Group.ID": "group.id",
        "qwertz": None,
    }


def test_a_refusal_travels_with_its_code() -> None:
    there = pickle.loads(pickle.dumps(Refused(ErrorCode.leader_not_available, "t-0 has no leader")))
    assert there.code is ErrorCode.leader_not_available
    assert str(there).startswith("t-0 has no leader; a partition has no leader: check")
