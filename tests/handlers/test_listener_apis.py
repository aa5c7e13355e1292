"""The other APIs of the broker listener on a single node: the same answers as from Apache Kafka 4.3.1."""

import datetime
import hashlib
import hmac
import logging
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.testing import Broker
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages import (
    alter_client_quotas,
    alter_partition_reassignments,
    alter_user_scram_credentials,
    create_acls,
    delete_acls,
    describe_client_quotas,
    describe_quorum,
    describe_user_scram_credentials,
    elect_leaders,
    incremental_alter_configs,
    list_partition_reassignments,
    update_features,
)
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, Listener
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.messages.describe_acls import DescribeAclsRequest
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest

NONE = ErrorCode.none
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        running.create_topic("foo", partitions=3)
        yield running


@pytest.fixture
def client(broker: Broker) -> Iterator[Client]:
    with broker.connect() as connected:
        yield connected


# --- no security


@pytest.mark.parametrize("version", [0, 1])
def test_nobody_need_say_who_they_are(client: Client, version: int) -> None:
    answer = client.call("sasl_handshake", version, SaslHandshakeRequest(mechanism="PLAIN"))
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.illegal_sasl_state, ())


@pytest.mark.parametrize("version", [0, 1, 2])
def test_nobody_can_prove_who_they_are(client: Client, version: int) -> None:
    answer = client.call("sasl_authenticate", version, SaslAuthenticateRequest(auth_bytes=b"x"))
    assert answer.error_code is ErrorCode.illegal_sasl_state
    assert answer.error_message == "SaslAuthenticate request received after successful authentication"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_there_is_no_authorizer(client: Client, version: int) -> None:
    described = client.call("describe_acls", version, DescribeAclsRequest(resource_type_filter=1, operation=1))
    assert described.error_code is ErrorCode.security_disabled
    assert described.error_message == "No Authorizer is configured on the broker"
    creation = create_acls.AclCreation(resource_type=2, resource_name="t", principal="User:a", host="*")
    created = client.call("create_acls", version, create_acls.CreateAclsRequest(creations=(creation,) * 2))
    assert [(each.error_code, each.error_message) for each in created.results] == [
        (ErrorCode.security_disabled, "No Authorizer is configured.")
    ] * 2
    deleted = client.call(
        "delete_acls", version, delete_acls.DeleteAclsRequest(filters=(delete_acls.DeleteAclsFilter(),))
    )
    assert [each.error_code for each in deleted.filter_results] == [ErrorCode.security_disabled]


def test_there_are_no_tokens(client: Client) -> None:
    refused = ErrorCode.delegation_token_request_not_allowed
    day = datetime.timedelta(days=1)
    for version in (1, 2, 3):
        answer = client.call("describe_delegation_token", version, DescribeDelegationTokenRequest(owners=None))
        assert (answer.error_code, answer.tokens) == (refused, ())
    for api, version, request in (
        ("create_delegation_token", 3, CreateDelegationTokenRequest(max_lifetime=day)),
        ("renew_delegation_token", 2, RenewDelegationTokenRequest(hmac=b"x", renew_period=day)),
        ("expire_delegation_token", 2, ExpireDelegationTokenRequest(hmac=b"x", expiry_time_period=day)),
    ):
        client.send(api, version, request)
        client.forget()
        # kio cannot read the timestamp -1, which Kafka sends for none: read the code, which comes first.
        frame = client.receive_frame()
        assert int.from_bytes(frame[5:7], "big") == refused, api


# --- one broker, one voter


def test_the_quorum_has_one_voter_who_leads(client: Client) -> None:
    asked = describe_quorum.TopicData(
        topic_name="__cluster_metadata", partitions=(describe_quorum.PartitionData(partition_index=0),)
    )
    for version in (0, 1, 2):
        answer = client.call("describe_quorum", version, describe_quorum.DescribeQuorumRequest(topics=(asked,)))
        (partition,) = answer.topics[0].partitions
        (voter,) = partition.current_voters
        assert (answer.error_code, partition.error_code, partition.leader_id, voter.replica_id) == (NONE, NONE, 1, 1)
        assert partition.high_watermark == voter.log_end_offset > 0
        assert partition.observers == ()
    assert voter.last_caught_up_timestamp > 0
    assert [(node.node_id, node.listeners[0].name) for node in answer.nodes] == [(1, "CONTROLLER")]


@pytest.mark.parametrize(("topic", "index"), [("foo", 0), ("__cluster_metadata", 1)])
def test_other_partitions_are_no_quorums(client: Client, topic: str, index: int) -> None:
    asked = describe_quorum.TopicData(
        topic_name=topic, partitions=(describe_quorum.PartitionData(partition_index=index),)
    )
    answer = client.call("describe_quorum", 2, describe_quorum.DescribeQuorumRequest(topics=(asked,)))
    assert answer.topics[0].partitions[0].error_code is ErrorCode.unknown_topic_or_partition


def voter_directory(client: Client) -> uuid.UUID:
    asked = describe_quorum.TopicData(
        topic_name="__cluster_metadata", partitions=(describe_quorum.PartitionData(partition_index=0),)
    )
    answer = client.call("describe_quorum", 2, describe_quorum.DescribeQuorumRequest(topics=(asked,)))
    found: uuid.UUID = answer.topics[0].partitions[0].current_voters[0].replica_directory_id
    return found


def test_no_voter_comes_or_goes(client: Client) -> None:
    endpoint = Listener(name="CONTROLLER", host="localhost", port=9999)
    directory = voter_directory(client)

    def add(voter_id: int, cluster_id: str | None = None, name: str = "CONTROLLER") -> ErrorCode:
        request = AddRaftVoterRequest(
            cluster_id=cluster_id,
            voter_id=voter_id,
            voter_directory_id=uuid.uuid4(),
            listeners=(endpoint.replace(name=name),),
        )
        code: ErrorCode = client.call("add_raft_voter", 1, request).error_code
        return code

    assert add(1, cluster_id="x") is ErrorCode.inconsistent_cluster_id
    assert add(1) is ErrorCode.duplicate_voter
    assert add(-2) is ErrorCode.invalid_request
    assert add(2, name="OTHER") is ErrorCode.invalid_request
    assert add(2) is ErrorCode.unsupported_version
    for voter_id, which in ((1, directory), (1, uuid.uuid4()), (5, uuid.uuid4())):
        removal = RemoveRaftVoterRequest(voter_id=voter_id, voter_directory_id=which)
        assert client.call("remove_raft_voter", 0, removal).error_code is ErrorCode.voter_not_found
    foreign = RemoveRaftVoterRequest(cluster_id="x", voter_id=1, voter_directory_id=directory)
    assert client.call("remove_raft_voter", 0, foreign).error_code is ErrorCode.inconsistent_cluster_id


def test_brokers_that_are_not_there_cannot_be_unregistered(client: Client) -> None:
    answer = client.call("unregister_broker", 0, UnregisterBrokerRequest(broker_id=7))
    assert answer.error_code is ErrorCode.broker_id_not_registered
    assert answer.error_message == "Broker ID 7 is not currently registered"
    assert client.call("unregister_broker", 0, UnregisterBrokerRequest(broker_id=1)).error_code is (
        ErrorCode.invalid_request
    )


@pytest.mark.parametrize("version", [0, 1, 2])
def test_every_partition_is_led_already(client: Client, version: int) -> None:
    wanted = (
        elect_leaders.TopicPartitions(topic="foo", partitions=(0, 9)),
        elect_leaders.TopicPartitions(topic="nope", partitions=(0,)),
    )
    answer = client.call("elect_leaders", version, elect_leaders.ElectLeadersRequest(topic_partitions=wanted))
    assert [
        (result.topic, each.partition_id, each.error_code, each.error_message)
        for result in answer.replica_election_results
        for each in result.partition_result
    ] == [
        ("foo", 0, ErrorCode.election_not_needed, "Leader election not needed for topic partition."),
        ("foo", 9, ErrorCode.unknown_topic_or_partition, "No such partition as foo-9"),
        ("nope", 0, ErrorCode.unknown_topic_or_partition, "No such topic as nope"),
    ]


def test_an_unknown_kind_of_election_is_refused_partition_by_partition(client: Client) -> None:
    wanted = (elect_leaders.TopicPartitions(topic="foo", partitions=(0,)),)
    request = elect_leaders.ElectLeadersRequest(election_type=2, topic_partitions=wanted)
    answer = client.call("elect_leaders", 2, request)
    assert answer.error_code is ErrorCode.invalid_request
    assert answer.replica_election_results[0].partition_result[0].error_message == "Unknown election type 2"


def test_everything_is_where_it_can_be(client: Client) -> None:
    partition = alter_partition_reassignments.ReassignablePartition
    topics = (
        alter_partition_reassignments.ReassignableTopic(
            name="foo",
            partitions=(
                partition(partition_index=0, replicas=(1,)),
                partition(partition_index=1, replicas=None),
                partition(partition_index=2, replicas=(1, 2)),
            ),
        ),
    )
    request = alter_partition_reassignments.AlterPartitionReassignmentsRequest(topics=topics)
    answer = client.call("alter_partition_reassignments", 1, request)
    assert answer.allow_replication_factor_change
    assert [each.error_code for each in answer.responses[0].partitions] == [
        NONE,
        ErrorCode.no_reassignment_in_progress,
        ErrorCode.invalid_replica_assignment,
    ]
    for wanted in (
        None,
        (list_partition_reassignments.ListPartitionReassignmentsTopics(name="foo", partition_indexes=(0, 9)),),
    ):
        listing = list_partition_reassignments.ListPartitionReassignmentsRequest(topics=wanted)
        assert client.call("list_partition_reassignments", 0, listing).topics == ()


# --- features


def test_features_are_told_and_changed(client: Client) -> None:
    def finalised() -> dict[str, int]:
        software = ApiVersionsRequest(client_software_name="x", client_software_version="1")
        answer = client.call("api_versions", 4, software)
        return {each.name: each.max_version_level for each in answer.finalized_features}

    name = "eligible.leader.replicas.version"
    assert finalised()[name] == 1

    def update(level: int, kind: int, version: int = 2, *, validate_only: bool = False) -> Any:
        feature = update_features.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
        request = update_features.UpdateFeaturesRequest(feature_updates=(feature,), validate_only=validate_only)
        return client.call("update_features", version, request)

    assert update(0, 2, validate_only=True).error_code is NONE
    assert finalised()[name] == 1
    refused = update(0, 1)
    assert refused.error_code is ErrorCode.invalid_update_version
    assert refused.error_message.startswith(
        "The update failed for all features since the following feature had an error: Invalid update version 0 for"
        f" feature {name}. Can't downgrade"
    )
    assert update(0, 2).error_code is NONE
    assert name not in finalised()
    # Older versions name each feature.
    (result,) = update(1, 1, version=1).results
    assert (result.feature, result.error_code, result.error_message) == (name, NONE, "NONE")
    assert finalised()[name] == 1


# --- credentials


def scram(client: Client, upsertions: tuple[Any, ...] = (), deletions: tuple[Any, ...] = ()) -> dict[str, ErrorCode]:
    request = alter_user_scram_credentials.AlterUserScramCredentialsRequest(upsertions=upsertions, deletions=deletions)
    answer = client.call("alter_user_scram_credentials", 0, request)
    return {each.user: each.error_code for each in answer.results}


def upsert(name: str, mechanism: int = 1, iterations: int = 4096, password: bytes = bytes(32)) -> Any:
    return alter_user_scram_credentials.ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=password
    )


def delete(name: str, mechanism: int = 1) -> Any:
    return alter_user_scram_credentials.ScramCredentialDeletion(name=name, mechanism=mechanism)


def test_credentials_come_and_go(client: Client) -> None:
    assert scram(client, (upsert("alice"), upsert("bob", 2))) == {"alice": NONE, "bob": NONE}
    answer = client.call(
        "describe_user_scram_credentials",
        0,
        describe_user_scram_credentials.DescribeUserScramCredentialsRequest(users=None),
    )
    assert [(each.user, each.credential_infos[0].mechanism) for each in answer.results] == [("alice", 1), ("bob", 2)]
    users = tuple(describe_user_scram_credentials.UserName(name=name) for name in ("alice", "nobody", "twice", "twice"))
    answer = client.call(
        "describe_user_scram_credentials",
        0,
        describe_user_scram_credentials.DescribeUserScramCredentialsRequest(users=users),
    )
    assert {each.user: each.error_code for each in answer.results} == {
        "alice": NONE,
        "nobody": ErrorCode.resource_not_found,
        "twice": ErrorCode.duplicate_resource,
    }
    assert scram(client, (), (delete("alice"), delete("bob", 2))) == {"alice": NONE, "bob": NONE}


@pytest.mark.parametrize(
    ("upsertions", "deletions", "code"),
    [
        ((upsert(""),), (), ErrorCode.unacceptable_credential),
        ((upsert("u", 3),), (), ErrorCode.unsupported_sasl_mechanism),
        ((upsert("u", 1, 4095),), (), ErrorCode.unacceptable_credential),
        ((upsert("u", 1, 16385),), (), ErrorCode.unacceptable_credential),
        ((upsert("u", password=b""),), (), ErrorCode.unacceptable_credential),
        ((upsert("u", 1), upsert("u", 2)), (), ErrorCode.duplicate_resource),
        ((upsert("u"),), (delete("u"),), ErrorCode.resource_not_found),
        ((), (delete("u"),), ErrorCode.resource_not_found),
        ((), (delete("", 2),), ErrorCode.unacceptable_credential),
        ((), (delete("u", 9),), ErrorCode.unsupported_sasl_mechanism),
    ],
)
def test_credentials_that_cannot_be(
    client: Client, upsertions: tuple[Any, ...], deletions: tuple[Any, ...], code: ErrorCode
) -> None:
    assert list(scram(client, upsertions, deletions).values()) == [code]


def test_keys_are_those_of_the_rfc(client: Client, broker: Broker) -> None:
    """What a server checks a proof with; the example of RFC 7677."""
    from barnabas.controller.decisions.scram_credentials import decide_alter_user_scram_credentials
    from barnabas.metadata.image import EMPTY_IMAGE

    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", b"W22ZaJ0SNY7soEsUEjb6gQ==", 4096)
    request = alter_user_scram_credentials.AlterUserScramCredentialsRequest(
        upsertions=(upsert("user", 1, 4096, salted),)
    )
    (record,) = decide_alter_user_scram_credentials(EMPTY_IMAGE, request).records
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    assert record.stored_key == hashlib.sha256(client_key).digest()  # type: ignore[union-attr]  # it is a credential
    assert record.server_key == hmac.digest(salted, b"Server Key", "sha256")  # type: ignore[union-attr]  # as above


# --- quotas


def quota_entry(entity: dict[str, str | None], **limits: float | None) -> alter_client_quotas.EntryData:
    return alter_client_quotas.EntryData(
        entity=tuple(
            alter_client_quotas.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()
        ),
        ops=tuple(
            alter_client_quotas.OpData(key=key, value=limit or 0.0, remove=limit is None)
            for key, limit in limits.items()
        ),
    )


def alter_quotas(client: Client, *entries: Any, validate_only: bool = False) -> list[tuple[ErrorCode, str | None]]:
    request = alter_client_quotas.AlterClientQuotasRequest(entries=entries, validate_only=validate_only)
    answer = client.call("alter_client_quotas", 1, request)
    return [(each.error_code, each.error_message) for each in answer.entries]


def describe_quotas(client: Client, *filters: tuple[str, int, str | None], strict: bool = False) -> Any:
    components = tuple(
        describe_client_quotas.ComponentData(entity_type=kind, match_type=match_type, match=match)
        for kind, match_type, match in filters
    )
    request = describe_client_quotas.DescribeClientQuotasRequest(components=components, strict=strict)
    answer = client.call("describe_client_quotas", 1, request)
    if answer.error_code is not NONE:
        assert answer.entries is None
        return answer.error_code, answer.error_message
    return {
        tuple((part.entity_type, part.entity_name) for part in entry.entity): {
            value.key: value.value for value in entry.values
        }
        for entry in answer.entries
    }


def test_quotas_are_set_and_found(client: Client) -> None:
    both: dict[str, str | None] = {"user": "u", "client-id": None}
    assert alter_quotas(client, quota_entry(both, producer_byte_rate=1000.0)) == [(NONE, None)]
    assert alter_quotas(client, quota_entry({"user": "v"}, request_percentage=1.5)) == [(NONE, None)]
    assert alter_quotas(client, quota_entry({"user": "w"}, request_percentage=1.5), validate_only=True) == [
        (NONE, None)
    ]
    of_both = {(("client-id", None), ("user", "u")): {"producer_byte_rate": 1000.0}}
    of_v = {(("user", "v"),): {"request_percentage": 1.5}}
    assert describe_quotas(client) == of_both | of_v
    assert describe_quotas(client, ("user", 0, "u")) == of_both
    assert describe_quotas(client, ("user", 0, "u"), strict=True) == {}
    assert describe_quotas(client, ("client-id", 1, None)) == of_both
    assert describe_quotas(client, ("user", 2, None)) == of_both | of_v
    assert describe_quotas(client, ("user", 2, None), strict=True) == of_v
    gone = quota_entry({"user": "v"}, request_percentage=None), quota_entry(both, producer_byte_rate=None)
    assert alter_quotas(client, *gone) == [(NONE, None)] * 2
    assert describe_quotas(client) == {}


@pytest.mark.parametrize(
    ("entity", "limits", "complaint"),
    [
        ({"user": "u"}, {"producer_byte_rate": 1000.5}, "producer_byte_rate cannot be a fractional value."),
        ({"user": "u"}, {"shoe_size": 44.0}, "Invalid configuration key shoe_size"),
        ({"user": "u"}, {"request_percentage": 0.0}, "Quota request_percentage must be greater than 0"),
        ({"user": "u"}, {"request_percentage": float("nan")}, "Quota request_percentage must be greater than 0"),
        ({"user": "u"}, {"consumer_byte_rate": 1e19}, "Proposed value for consumer_byte_rate is too large for a LONG."),
        ({}, {"request_percentage": 1.0}, "Invalid empty client quota entity"),
        ({"group": "g"}, {"request_percentage": 1.0}, "Unhandled client quota entity type: group"),
        ({"user": ""}, {"request_percentage": 1.0}, "Empty user not supported"),
        (
            {"ip": "1.2.3.4", "user": "u"},
            {"connection_creation_rate": 1.0},
            "Invalid quota entity combination, IP entity should not be combined with User or ClientId",
        ),
        (
            {"ip": "no such host"},
            {"connection_creation_rate": 1.0},
            "no such host is not a valid IP or resolvable host.",
        ),
        ({"ip": "1.2.3.4"}, {"producer_byte_rate": 1.0}, "Invalid configuration key producer_byte_rate"),
        (
            {"ip": None},
            {"connection_creation_rate": 1e10},
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
    ],
)
def test_quotas_that_cannot_be(
    client: Client, entity: dict[str, str | None], limits: dict[str, float | None], complaint: str
) -> None:
    assert alter_quotas(client, quota_entry(entity, **limits)) == [(ErrorCode.invalid_request, complaint)]
    assert describe_quotas(client) == {}


def test_an_entity_changes_once_in_a_request(client: Client) -> None:
    twice = quota_entry({"user": "w"}, consumer_byte_rate=1.0), quota_entry({"user": "w"}, consumer_byte_rate=2.0)
    duplicate = "Ignoring duplicate entity ClientQuotaEntity(entries={user=w})"
    assert alter_quotas(client, *twice) == [(ErrorCode.invalid_request, duplicate)]
    assert describe_quotas(client) == {(("user", "w"),): {"consumer_byte_rate": 1.0}}
    assert alter_quotas(client, quota_entry({"user": "w"}, consumer_byte_rate=None)) == [(NONE, None)]


@pytest.mark.parametrize(
    ("filters", "code"),
    [
        ([("user", 0, None)], ErrorCode.invalid_request),
        ([("user", 1, "x")], ErrorCode.invalid_request),
        ([("user", 2, "x")], ErrorCode.invalid_request),
        ([("user", 3, "x")], ErrorCode.invalid_request),
        ([("", 0, "x")], ErrorCode.invalid_request),
        ([("shoe-size", 0, "x")], ErrorCode.unsupported_version),
        ([("user", 0, "x"), ("user", 0, "x")], ErrorCode.invalid_request),
        ([("user", 0, "x"), ("ip", 0, "x")], ErrorCode.invalid_request),
    ],
)
def test_filters_that_make_no_sense(
    client: Client, filters: list[tuple[str, int, str | None]], code: ErrorCode
) -> None:
    assert describe_quotas(client, *filters)[0] is code


def test_quotas_outlive_a_restart() -> None:
    with Broker() as broker:
        with broker.connect() as client:
            assert alter_quotas(client, quota_entry({"user": None}, producer_byte_rate=1e6)) == [(NONE, None)]
        broker.restart()
        with broker.connect() as client:
            assert describe_quotas(client) == {(("user", None),): {"producer_byte_rate": 1e6}}


# --- configs of loggers, client metrics and groups


def describe(client: Client, kind: int, name: str, *, synonyms: bool = False) -> dict[str, Any]:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    request = DescribeConfigsRequest(resources=(resource,), include_synonyms=synonyms)
    (result,) = client.call("describe_configs", 4, request).results
    assert result.error_code is NONE, result.error_message
    return {config.name: config for config in result.configs}


def alter(
    client: Client, kind: int, name: str, *operations: tuple[str, int, str | None], validate_only: bool = False
) -> ErrorCode:
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=(
            incremental_alter_configs.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=tuple(
                    incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=value)
                    for key, operation, value in operations
                ),
            ),
        ),
        validate_only=validate_only,
    )
    code: ErrorCode = client.call("incremental_alter_configs", 1, request).responses[0].error_code
    return code


def test_loggers_are_described_and_set(client: Client) -> None:
    # The broker runs in this process, and its loggers are ours.
    logger = logging.getLogger("barnabas.handlers.test_listener_apis")
    name = logger.name
    assert describe(client, BROKER_LOGGER, "1")["root"].config_source == 6
    assert alter(client, BROKER_LOGGER, "1", (name, SET, "DEBUG")) is NONE
    assert logger.level == logging.DEBUG
    assert describe(client, BROKER_LOGGER, "1")[name].value == "DEBUG"
    assert alter(client, BROKER_LOGGER, "1", (name, SET, "ERROR"), validate_only=True) is NONE
    assert logger.level == logging.DEBUG
    assert alter(client, BROKER_LOGGER, "1", (name, DELETE, None)) is NONE
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("node", "operations", "code"),
    [
        ("1", [("root", SET, "BOGUS")], ErrorCode.invalid_config),
        ("1", [("root", SET, "info")], ErrorCode.invalid_config),
        ("1", [("root", SET, None)], ErrorCode.invalid_request),
        ("1", [("root", DELETE, None)], ErrorCode.invalid_request),
        ("1", [("root", APPEND, "INFO")], ErrorCode.invalid_request),
        ("1", [("root", SUBTRACT, "INFO")], ErrorCode.invalid_request),
        ("1", [("root", SET, "INFO"), ("root", SET, "DEBUG")], ErrorCode.invalid_request),
        ("1", [("root", SET, "DEBUG"), ("no.such.logger", SET, "INFO")], ErrorCode.invalid_config),
        ("", [("root", SET, "INFO")], ErrorCode.invalid_request),
        ("2", [("root", SET, "INFO")], ErrorCode.invalid_request),
    ],
)
def test_loggers_that_cannot_be_set(
    client: Client, node: str, operations: list[tuple[str, int, str | None]], code: ErrorCode
) -> None:
    level = logging.root.level
    assert alter(client, BROKER_LOGGER, node, *operations) is code
    assert logging.root.level == level


def test_client_metrics_are_a_resource(client: Client) -> None:
    assert describe(client, CLIENT_METRICS, "sub")["interval.ms"].value == "300000"
    assert alter(client, CLIENT_METRICS, "sub", ("interval.ms", SET, "1000"), ("metrics", SET, "a,b")) is NONE
    assert alter(client, CLIENT_METRICS, "sub", ("metrics", SUBTRACT, "a")) is NONE
    found = describe(client, CLIENT_METRICS, "sub", synonyms=True)
    assert {name: config.value for name, config in found.items()} == {
        "interval.ms": "1000",
        "match": "",
        "metrics": "b",
    }
    assert [(each.name, each.source) for each in found["metrics"].synonyms] == [("metrics", 7)]
    assert resources(client, CLIENT_METRICS) == {(CLIENT_METRICS, "sub")}
    # While there is a subscription, the telemetry APIs are advertised.
    software = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    assert {71, 72} <= {each.api_key for each in client.call("api_versions", 4, software).api_keys}
    version_0 = client.call("list_config_resources", 0, ListConfigResourcesRequest())
    assert [each.resource_name for each in version_0.config_resources] == ["sub"]
    assert alter(client, CLIENT_METRICS, "sub", ("interval.ms", DELETE, None), ("metrics", DELETE, None)) is NONE
    assert resources(client, CLIENT_METRICS) == set()
    assert not {71, 72} & {each.api_key for each in client.call("api_versions", 4, software).api_keys}


def test_groups_are_a_resource(client: Client) -> None:
    found = describe(client, GROUP, "g", synonyms=True)
    assert len(found) == 17
    assert [(each.name, each.source) for each in found["consumer.session.timeout.ms"].synonyms] == [
        ("group.consumer.session.timeout.ms", 5)
    ]
    assert [(each.name, each.source) for each in found["share.auto.offset.reset"].synonyms] == [
        ("share.auto.offset.reset", 5)
    ]
    assert alter(client, GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")) is NONE
    altered = describe(client, GROUP, "g", synonyms=True)["consumer.session.timeout.ms"]
    assert (altered.value, altered.config_source) == ("50000", 8)
    assert [each.source for each in altered.synonyms] == [8, 5]
    assert resources(client, GROUP) == {(GROUP, "g")}
    assert alter(client, GROUP, "g", ("consumer.session.timeout.ms", DELETE, None)) is NONE


def resources(client: Client, *kinds: int) -> set[tuple[int, str]]:
    answer = client.call("list_config_resources", 1, ListConfigResourcesRequest(resource_types=kinds))
    assert answer.error_code is NONE
    return {(each.resource_type, each.resource_name) for each in answer.config_resources}


def test_resources_are_listed(client: Client) -> None:
    assert resources(client) >= {(TOPIC, "foo"), (BROKER, "1"), (BROKER_LOGGER, "1")}
    assert resources(client, BROKER) == {(BROKER, "1")}
    refused = client.call("list_config_resources", 1, ListConfigResourcesRequest(resource_types=(99,)))
    assert refused.error_code is ErrorCode.unsupported_version
