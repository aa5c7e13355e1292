"""Well-formed requests with values that make no sense: limits, timeouts, offsets, names, configs, partitions."""

import datetime
import time
from typing import Any

import pytest
from attacked import Attacked, produce_request

from barnabas.records.record import Record, build_batch
from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

TOPIC = "values"
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
LONG = "y" * 40_000
"""Longer than the strings of stored records can be; requests of flexible versions can carry it."""


def milliseconds(number: int) -> datetime.timedelta:
    return datetime.timedelta(milliseconds=number)


@pytest.fixture
def client(attacked: Attacked) -> Any:
    attacked.create_topic(TOPIC)
    with attacked.broker.connect(timeout_s=10) as client:
        yield client


def fetch(client: Client, version: int = 12, **values: Any) -> Any:
    asked = FetchPartition(
        partition=values.pop("partition", 0),
        fetch_offset=values.pop("fetch_offset", 0),
        partition_max_bytes=values.pop("partition_max_bytes", 1000),
        current_leader_epoch=values.pop("current_leader_epoch", -1),
    )
    defaults = {"max_wait": milliseconds(0), "min_bytes": 0}
    request = FetchRequest(topics=(FetchTopic(topic=TOPIC, partitions=(asked,)),), **defaults | values)
    return client.call("fetch", version, request)


@pytest.mark.parametrize("version", [4, 7, 12])
@pytest.mark.parametrize(
    "values",
    [{"max_bytes": -1}, {"max_bytes": INT32_MIN}, {"min_bytes": -1}, {"isolation_level": 5}, {"isolation_level": -1}],
    ids=str,
)
def test_senseless_limits_of_a_fetch_are_an_invalid_request(
    client: Client, version: int, values: dict[str, int]
) -> None:
    answer = fetch(client, version, **values)
    if version >= 7:
        assert answer.error_code == ErrorCode.invalid_request
    else:  # there is no place for an error of the whole
        assert answer.responses[0].partitions[0].error_code == ErrorCode.invalid_request


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"fetch_offset": -1}, "offset_out_of_range"),
        ({"fetch_offset": INT64_MIN}, "offset_out_of_range"),
        ({"fetch_offset": INT64_MAX}, "offset_out_of_range"),
        ({"partition": -1}, "unknown_topic_or_partition"),
        ({"partition": INT32_MAX}, "unknown_topic_or_partition"),
        ({"current_leader_epoch": INT32_MAX}, "unknown_leader_epoch"),
        ({"partition_max_bytes": -1}, "none"),  # as 0: the first batch, if there is one
        ({"partition_max_bytes": INT32_MIN}, "none"),
        ({"max_wait": milliseconds(-1), "min_bytes": 100}, "none"),
        ({"max_wait": milliseconds(INT32_MIN), "min_bytes": INT32_MAX}, "none"),
    ],
    ids=str,
)
def test_senseless_values_of_a_partition_to_fetch(client: Client, values: dict[str, Any], error: str) -> None:
    started = time.monotonic()
    assert fetch(client, **values).responses[0].partitions[0].error_code.name == error
    assert time.monotonic() - started < 2


def test_senseless_acks_and_timeouts_of_a_produce(client: Client) -> None:
    batch = build_batch([Record(timestamp=1, value=b"v")])
    for acks in (2, -2, 32767, -32768):
        answer = client.call("produce", 12, produce_request(TOPIC, batch, acks=acks))
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.invalid_required_acks
    for timeout_ms in (-1, 0, INT32_MIN, INT32_MAX):
        request = produce_request(TOPIC, batch).replace(timeout=milliseconds(timeout_ms))
        answer = client.call("produce", 12, request)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.none


@pytest.mark.parametrize("timestamp", [-7, -100, INT64_MIN])
def test_times_that_mean_nothing(client: Client, timestamp: int) -> None:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    request = ListOffsetsRequest(topics=(ListOffsetsTopic(name=TOPIC, partitions=(asked,)),))
    answer = client.call("list_offsets", 11, request).topics[0].partitions[0]
    assert answer.error_code == ErrorCode.unsupported_version


def test_the_end_of_time_has_no_offset(client: Client) -> None:
    asked = ListOffsetsPartition(partition_index=0, timestamp=INT64_MAX)
    request = ListOffsetsRequest(topics=(ListOffsetsTopic(name=TOPIC, partitions=(asked,)),))
    answer = client.call("list_offsets", 11, request).topics[0].partitions[0]
    assert (answer.error_code, answer.offset) == (ErrorCode.none, -1)


@pytest.mark.parametrize("epoch", [-2, INT32_MIN, INT32_MAX])
def test_epochs_that_never_were(client: Client, epoch: int) -> None:
    asked = OffsetForLeaderPartition(partition=0, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=(OffsetForLeaderTopic(topic=TOPIC, partitions=(asked,)),))
    answer = client.call("offset_for_leader_epoch", 4, request).topics[0].partitions[0]
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (ErrorCode.none, -1, -1)


@pytest.mark.parametrize("offset", [-2, INT64_MIN, 10**6, INT64_MAX])
def test_records_that_cannot_be_deleted(client: Client, offset: int) -> None:
    asked = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=(DeleteRecordsTopic(name=TOPIC, partitions=(asked,)),), timeout=milliseconds(-5)
    )
    answer = client.call("delete_records", 2, request).topics[0].partitions[0]
    assert answer.error_code == ErrorCode.offset_out_of_range


def create(client: Client, name: str = "never-made", **values: Any) -> Any:
    defaults = {"num_partitions": 1, "replication_factor": 1}
    topic = CreatableTopic(name=name, **defaults | values)
    (result,) = client.call("create_topics", 7, CreateTopicsRequest(topics=(topic,))).topics
    return result


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"num_partitions": 0}, "invalid_partitions"),
        ({"num_partitions": -2}, "invalid_partitions"),
        ({"num_partitions": INT32_MIN}, "invalid_partitions"),
        ({"num_partitions": 10_001}, "policy_violation"),
        ({"num_partitions": INT32_MAX}, "policy_violation"),
        ({"replication_factor": 0}, "invalid_replication_factor"),
        ({"replication_factor": -2}, "invalid_replication_factor"),
        ({"replication_factor": 32767}, "invalid_replication_factor"),
    ],
    ids=str,
)
def test_numbers_of_partitions_and_replicas_that_cannot_be(client: Client, values: dict[str, int], error: str) -> None:
    started = time.monotonic()
    assert create(client, **values).error_code.name == error
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("count", [-1, 0, 1, INT32_MIN, INT32_MAX])
def test_partitions_that_cannot_be_added(client: Client, count: int) -> None:
    request = CreatePartitionsRequest(topics=(CreatePartitionsTopic(name=TOPIC, count=count, assignments=None),))
    (result,) = client.call("create_partitions", 3, request).results
    assert result.error_code in (ErrorCode.invalid_partitions, ErrorCode.policy_violation)


NAMES = ["", ".", "..", "a/b", "a b", "a\x00b", "../../etc/passwd", "grüße", "\U0001f600", "a" * 250, LONG, "a\n", "%s"]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:20]))
def test_names_that_no_topic_can_have(client: Client, name: str) -> None:
    assert create(client, name).error_code == ErrorCode.invalid_topic_exception
    for version in (4, 12):
        if version == 12 or len(name) < 32768:
            request = MetadataRequest(topics=(MetadataRequestTopic(name=name),), allow_auto_topic_creation=True)
            (topic,) = client.call("metadata", version, request).topics
            assert topic.error_code == ErrorCode.invalid_topic_exception
    produced = client.call("produce", 12, produce_request(name, build_batch([Record(value=b"v")])))
    assert produced.responses[0].partition_responses[0].error_code in (
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.invalid_topic_exception,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("no.such.config", "1"),
        ("retention.ms", "soon"),
        ("retention.ms", "-2"),
        ("retention.ms", "9" * 30),
        ("retention.ms", ""),
        ("segment.bytes", "-1"),
        ("cleanup.policy", "burn"),
        ("compression.type", "rar"),
        ("max.message.bytes", "-1"),
        ("min.cleanable.dirty.ratio", "nan"),
        ("message.timestamp.type", "\x00"),
        ("", ""),
        (LONG, LONG),
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_configs_that_cannot_be(client: Client, name: str, value: str) -> None:
    config = CreatableTopicConfig(name=name, value=value)
    assert create(client, "never-made", configs=(config,)).error_code == ErrorCode.invalid_config
    resource = AlterConfigsResource(
        resource_type=2, resource_name=TOPIC, configs=(AlterableConfig(name=name, value=value),)
    )
    (altered,) = client.call("alter_configs", 2, AlterConfigsRequest(resources=(resource,))).responses
    assert altered.error_code == ErrorCode.invalid_config


def test_resources_that_do_not_exist(client: Client) -> None:
    for kind, name in ((0, ""), (-128, "x"), (127, "x"), (4, "999"), (4, "x"), (2, "missing"), (2, "")):
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=())
        (altered,) = client.call("alter_configs", 2, AlterConfigsRequest(resources=(resource,))).responses
        assert altered.error_code in (ErrorCode.invalid_request, ErrorCode.unknown_topic_or_partition)


def find_coordinator(client: Client) -> None:
    """The first time this creates __consumer_offsets."""
    client.call("find_coordinator", 6, FindCoordinatorRequest(key_type=0, coordinator_keys=("some group",)))


PROTOCOL = JoinGroupRequestProtocol(name="range", metadata=b"m")


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"group_id": ""}, "invalid_group_id"),
        ({"group_id": LONG}, "invalid_group_id"),
        ({"session_timeout": milliseconds(-1)}, "invalid_session_timeout"),
        ({"session_timeout": milliseconds(INT32_MIN)}, "invalid_session_timeout"),
        ({"session_timeout": milliseconds(INT32_MAX)}, "invalid_session_timeout"),
        ({"protocols": ()}, "inconsistent_group_protocol"),
        ({"protocol_type": ""}, "inconsistent_group_protocol"),
        ({"protocol_type": LONG}, "invalid_request"),
        ({"protocols": (JoinGroupRequestProtocol(name=LONG, metadata=b""),)}, "invalid_request"),
        ({"group_instance_id": LONG}, "invalid_request"),
        ({"member_id": LONG}, "unknown_member_id"),
        ({"member_id": "\U0001f600"}, "unknown_member_id"),
        ({"rebalance_timeout": milliseconds(INT32_MIN)}, "member_id_required"),
        ({"group_id": "\U0001f600\x00", "protocols": (PROTOCOL,) * 500}, "member_id_required"),
    ],
    ids=lambda value: ascii(str(value)[:40]),
)
def test_joins_that_make_no_sense(client: Client, values: dict[str, Any], error: str) -> None:
    defaults: dict[str, Any] = {
        "group_id": "values",
        "session_timeout": milliseconds(10_000),
        "rebalance_timeout": milliseconds(10_000),
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": (PROTOCOL,),
    }
    request = JoinGroupRequest(**defaults | values)
    find_coordinator(client)
    assert client.call("join_group", 9, request).error_code.name == error


def test_the_longest_client_id_there_can_be_joins_a_group(attacked: Attacked) -> None:
    request = JoinGroupRequest(
        group_id="long-client",
        session_timeout=milliseconds(10_000),
        rebalance_timeout=milliseconds(10_000),
        protocol_type="consumer",
        protocols=(PROTOCOL,),
    )
    with attacked.broker.connect(client_id="é" * 16_383) as client:
        find_coordinator(client)
        handed_out = client.call("join_group", 9, request)
        assert handed_out.error_code == ErrorCode.member_id_required
        joined = client.call("join_group", 9, request.replace(member_id=handed_out.member_id))
        assert joined.error_code == ErrorCode.none


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"group_id": LONG}, "invalid_group_id"),
        ({"group_id": "no-such-group", "generation_id_or_member_epoch": 5}, "group_id_not_found"),
        ({"generation_id_or_member_epoch": INT32_MIN}, "none"),
        ({}, "none"),
    ],
    ids=lambda value: ascii(str(value)[:40]),
)
def test_commits_that_make_no_sense(client: Client, values: dict[str, Any], error: str) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=INT64_MAX, committed_metadata=None)
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=(partition,))
    request = OffsetCommitRequest(**{"group_id": "committing", "topics": (topic,)} | values)
    find_coordinator(client)
    answer = client.call("offset_commit", 9, request)
    assert answer.topics[0].partitions[0].error_code.name == error


def test_topic_ids_in_versions_that_have_no_meaning_for_them(client: Client) -> None:
    for version in (10, 11):
        request = MetadataRequest(topics=(MetadataRequestTopic(name=None),))
        (topic,) = client.call("metadata", version, request).topics
        assert topic.error_code == ErrorCode.invalid_request


def test_transactions_are_refused_plainly(client: Client) -> None:
    request = InitProducerIdRequest(transactional_id=LONG, transaction_timeout=milliseconds(INT32_MIN))
    assert client.call("init_producer_id", 5, request).error_code == ErrorCode.invalid_request
