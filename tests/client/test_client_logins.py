"""Logins with every supported mechanism, against a listener that checks them."""

import base64
import json
import sys
from collections.abc import Iterator

import pytest
from fake_kafka import FakeKafka, Logins, serve_plainly

from barnabas.client.cluster import Cluster
from barnabas.client.errors import AuthenticationFailed, ClientError, ClosedOnFirstRequest
from barnabas.client.properties import client_settings
from barnabas.client.sasl import unsecured_token
from barnabas.testing import Broker

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
USERS = {"alice": "wonder,land=1", "bob": "\N{GREEK SMALL LETTER PI}-password", "a-token": ""}


@pytest.fixture
def logins() -> Logins:
    return Logins(USERS, (*MECHANISMS, "OAUTHBEARER"))


@pytest.fixture
def listener(logins: Logins) -> Iterator[FakeKafka]:
    with FakeKafka(logins.serve) as running:
        yield running


def cluster(listener: FakeKafka, **properties: str) -> Cluster:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    settings = {"bootstrap.servers": listener.bootstrap_servers, "security.protocol": "SASL_PLAINTEXT", **named}
    return Cluster(client_settings(settings), retry_for_s=0)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("user", ["alice", "bob"])
def test_a_password_opens(listener: FakeKafka, logins: Logins, mechanism: str, user: str) -> None:
    jaas = f'org.apache.kafka.common.security.AnyLoginModule required username="{user}" password="{USERS[user]}";'
    with cluster(listener, sasl_mechanism=mechanism, sasl_jaas_config=jaas) as connected:
        assert connected.topics() == {}
    assert logins.logged_in == [user]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("user", "password"), [("alice", "guessed"), ("nobody", "x")])
def test_a_wrong_password_is_told_at_once(listener: FakeKafka, mechanism: str, user: str, password: str) -> None:
    with cluster(listener, sasl_mechanism=mechanism, sasl_username=user, sasl_password=password) as connected:
        with pytest.raises(AuthenticationFailed, match=r"refuses the login: .*; check sasl.username") as caught:
            connected.topics()
        assert password not in str(caught.value).replace("sasl.username", "")
    assert listener.connections == 1


def test_scram_does_not_trust_a_broker_that_does_not_know_the_password(listener: FakeKafka, logins: Logins) -> None:
    logins.forge_proof = True
    properties = {"sasl_mechanism": "SCRAM-SHA-256", "sasl_username": "alice", "sasl_password": USERS["alice"]}
    with (
        cluster(listener, **properties) as connected,
        pytest.raises(AuthenticationFailed, match="did not prove that it knows the password of alice"),
    ):
        connected.topics()


def test_scram_without_its_package_says_what_to_install(listener: FakeKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scramp", None)
    properties = {"sasl_mechanism": "SCRAM-SHA-256", "sasl_username": "alice", "sasl_password": "x"}
    with cluster(listener, **properties) as connected, pytest.raises(ClientError, match="run pip install scramp"):
        connected.topics()


def test_a_token_opens(listener: FakeKafka, logins: Logins) -> None:
    with cluster(listener, sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token="a-token") as connected:
        assert connected.topics() == {}
    assert logins.logged_in == ["a-token"]


def test_a_token_that_is_refused_is_told_with_the_brokers_words(listener: FakeKafka) -> None:
    with (
        cluster(listener, sasl_mechanism="OAUTHBEARER", sasl_oauthbearer_token="stale") as connected,
        pytest.raises(AuthenticationFailed, match="Authentication failed; get a fresh token"),
    ):
        connected.topics()


def test_an_unsecured_token_says_what_was_asked_for() -> None:
    jaas = (
        'OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="admin" unsecuredLoginNumberClaim_n="4" '
        'unsecuredLoginListClaim_scope=",a,b" unsecuredLoginLifetimeSeconds="60" unsecuredLoginExtension_zone="eu";'
    )
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": jaas}
    login = client_settings({"bootstrap.servers": "x:1", **properties}).security.login
    assert login is not None
    assert login.extensions == (("zone", "eu"),)
    header, claims, signature = unsecured_token(login, 1000.0).split(".")
    assert json.loads(base64.urlsafe_b64decode(header + "==")) == {"alg": "none"}
    assert json.loads(base64.urlsafe_b64decode(claims + "==")) == {
        "sub": "admin",
        "n": 4.0,
        "scope": ["a", "b"],
        "iat": 1000.0,
        "exp": 1060.0,
    }
    assert signature == ""


def test_a_mechanism_that_the_broker_lacks_is_told_with_those_it_has() -> None:
    with FakeKafka(Logins(USERS, ("SCRAM-SHA-512",)).serve) as listener:
        properties = {"sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": "x"}
        with (
            cluster(listener, **properties) as connected,
            pytest.raises(AuthenticationFailed, match=r"PLAIN, only with: SCRAM-SHA-512; set sasl.mechanism"),
        ):
            connected.topics()


def test_a_listener_without_logins_is_recognised() -> None:
    with Broker() as broker:
        properties = {
            "bootstrap.servers": broker.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": "x",
        }
        with (
            Cluster(client_settings(properties)) as connected,
            pytest.raises(AuthenticationFailed, match=r"set security\.protocol to PLAINTEXT"),
        ):
            connected.topics()


def test_who_does_not_log_in_where_one_must_is_told_soon(listener: FakeKafka) -> None:
    quick = {"retry.backoff.ms": "1", "bootstrap.servers": listener.bootstrap_servers}
    with (
        Cluster(client_settings(quick), retry_for_s=1000) as connected,
        pytest.raises(
            ClosedOnFirstRequest,
            match=r"closed the connection .* after the request metadata; if this listener wants a login",
        ),
    ):
        connected.topics()
    assert listener.connections == 5


def test_a_login_that_is_about_to_end_is_made_anew() -> None:
    logins = Logins(USERS, ("PLAIN",), session_ms=1)
    with FakeKafka(logins.serve) as listener:
        properties = {"sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": USERS["alice"]}
        with cluster(listener, **properties) as connected:
            while logins.logged_in != ["alice", "alice"]:  # without a new login, this would not end in time
                assert connected.topics() == {}


def test_a_login_without_end_is_kept() -> None:
    logins = Logins(USERS, ("PLAIN",))
    with FakeKafka(logins.serve) as listener:
        properties = {"sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": USERS["alice"]}
        with cluster(listener, **properties) as connected:
            assert connected.topics() == {}
            assert connected.topics() == {}
        assert logins.logged_in == ["alice"]


def test_the_listener_of_these_tests_serves_without_logins_too() -> None:
    with FakeKafka(serve_plainly) as listener, cluster(listener, security_protocol="PLAINTEXT") as connected:
        assert connected.topics() == {}
