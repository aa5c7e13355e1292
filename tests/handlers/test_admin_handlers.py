"""The admin APIs, from a request to the answer a client reads."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from admin_broker import AdminBroker

from barnabas.metadata.configs import ConfigSource, ConfigType
from barnabas.model import TopicPartition
from barnabas.wire.errors import ErrorCode, KafkaStorageError
from barnabas.wire.messages import alter_configs, incremental_alter_configs
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from barnabas.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


Make = Callable[..., Awaitable[AdminBroker]]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """A registered broker with topics, as name and partition count, and static configs."""
    made = []

    async def broker(*topics: tuple[str, int], **static: str) -> AdminBroker:
        admin = AdminBroker(tmp_path, **static)
        made.append(admin)
        await admin.register()
        response = await admin.ask("create_topics", creating(*topics))
        assert all(topic.error_code is ErrorCode.none for topic in response.topics)
        return admin

    yield broker
    for admin in made:
        admin.store.close()


def creating(*topics: tuple[str, int], **configs: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=tuple(
            CreatableTopic(
                name=name,
                num_partitions=partitions,
                replication_factor=1,
                configs=tuple(
                    CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()
                ),
            )
            for name, partitions in topics
        )
    )


@pytest.mark.parametrize("version", range(2, 8))
def test_create_topics_in_every_version(make: Make, version: int) -> None:
    async def scenario() -> None:
        admin = await make()
        response = await admin.ask("create_topics", creating(("t", 2), retention_ms="7"), version)
        [topic] = response.topics
        assert (topic.name, topic.error_code) == ("t", ErrorCode.none)
        if version >= 5:
            sources = {config.name: config.config_source for config in topic.configs or ()}
            assert (topic.num_partitions, topic.replication_factor) == (2, 1)
            assert sources["retention.ms"] == ConfigSource.TOPIC
        if version >= 7:
            assert topic.topic_id == admin.image.topics.by_name["t"].id
        again = await admin.ask("create_topics", creating(("t", 2)), version)
        assert again.topics[0].error_code is ErrorCode.topic_already_exists

    run(scenario())


@pytest.mark.parametrize("version", range(1, 7))
def test_delete_topics_in_every_version(make: Make, version: int) -> None:
    async def scenario() -> None:
        admin = await make(("a", 1), ("b", 1))
        if version < 6:
            request = DeleteTopicsRequest(topic_names=("a", "nope"))
        else:
            request = DeleteTopicsRequest(topics=(DeleteTopicState(name="a"), DeleteTopicState(name="nope")))
        response = await admin.ask("delete_topics", request, version)
        assert [(result.name, result.error_code) for result in response.responses] == [
            ("a", ErrorCode.none),
            ("nope", ErrorCode.unknown_topic_or_partition),
        ]
        assert set(admin.image.topics.by_name) == {"b"}

    run(scenario())


@pytest.mark.parametrize(("version", "code"), [(2, ErrorCode.invalid_request), (3, ErrorCode.topic_deletion_disabled)])
def test_deletion_switched_off_is_told_as_the_version_knows_it(make: Make, version: int, code: ErrorCode) -> None:
    async def scenario() -> None:
        admin = await make(("a", 1), delete_topic_enable="false")
        response = await admin.ask("delete_topics", DeleteTopicsRequest(topic_names=("a",)), version)
        assert response.responses[0].error_code is code

    run(scenario())


def test_create_partitions(make: Make) -> None:
    async def scenario() -> None:
        admin = await make(("t", 1))
        request = CreatePartitionsRequest(topics=(CreatePartitionsTopic(name="t", count=3),))
        for version in range(4):
            response = await admin.ask("create_partitions", request, version)
            expected = ErrorCode.none if version == 0 else ErrorCode.invalid_partitions
            assert response.results[0].error_code is expected
        assert len(admin.services.replicas) == 3

    run(scenario())


def test_what_cannot_be_committed_is_told_item_by_item(make: Make) -> None:
    async def scenario() -> None:
        admin = await make(("t", 1))
        admin.failure = KafkaStorageError("the disk is full")
        created = await admin.ask("create_topics", creating(("a", 1), ("b", 1)))
        deleted = await admin.ask("delete_topics", DeleteTopicsRequest(topics=(DeleteTopicState(name="t"),)))
        grown = await admin.ask(
            "create_partitions", CreatePartitionsRequest(topics=(CreatePartitionsTopic(name="t", count=3),))
        )
        altered = await admin.ask("incremental_alter_configs", altering("t", "retention.ms", "5"))
        replaced = await admin.ask("alter_configs", replacing("t", "retention.ms", "5"))
        results = [*created.topics, *deleted.responses, *grown.results, *altered.responses, *replaced.responses]
        assert [result.error_code for result in results] == [ErrorCode.kafka_storage_error] * 6
        assert all(result.error_message == "the disk is full" for result in results)

    run(scenario())


def altering(topic: str, name: str, value: str) -> incremental_alter_configs.IncrementalAlterConfigsRequest:
    config = incremental_alter_configs.AlterableConfig(name=name, config_operation=0, value=value)
    return incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=(
            incremental_alter_configs.AlterConfigsResource(resource_type=TOPIC, resource_name=topic, configs=(config,)),
        )
    )


def replacing(topic: str, name: str, value: str) -> alter_configs.AlterConfigsRequest:
    config = alter_configs.AlterableConfig(name=name, value=value)
    return alter_configs.AlterConfigsRequest(
        resources=(alter_configs.AlterConfigsResource(resource_type=TOPIC, resource_name=topic, configs=(config,)),)
    )


def describing(kind: int, name: str, *keys: str, synonyms: bool = False, documentation: bool = False) -> object:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys or None)
    return DescribeConfigsRequest(resources=(resource,), include_synonyms=synonyms, include_documentation=documentation)


async def described(admin: AdminBroker, request: object, version: int = 4) -> Any:
    response = await admin.ask("describe_configs", request, version)
    return response.results[0]


def test_altered_configs_reach_the_open_log_and_the_description(make: Make) -> None:
    async def scenario() -> None:
        admin = await make(("t", 1), log_retention_hours="1")
        log = admin.services.replicas.get("t", 0).log
        assert log.settings.retention_ms == 3_600_000
        for request in (altering("t", "retention.ms", "5"), altering("t", "max.message.bytes", "99")):
            response = await admin.ask("incremental_alter_configs", request)
            assert response.responses[0].error_code is ErrorCode.none
        assert log.settings.retention_ms == 5
        result = await described(admin, describing(TOPIC, "t", "retention.ms", "nope", synonyms=True))
        [config] = result.configs
        assert (config.value, config.config_source, config.read_only) == ("5", ConfigSource.TOPIC, False)
        assert [(synonym.name, synonym.value) for synonym in config.synonyms] == [("retention.ms", "5")]
        await admin.ask("alter_configs", replacing("t", "flush.ms", "1"))
        result = await described(admin, describing(TOPIC, "t", "retention.ms", synonyms=True))
        assert result.error_message == ""
        [config] = result.configs
        assert (config.value, config.config_source, config.synonyms) == ("3600000", ConfigSource.DEFAULT, ())

    run(scenario())


@pytest.mark.parametrize("version", range(1, 5))
def test_describe_configs_in_every_version(make: Make, version: int) -> None:
    async def scenario() -> None:
        admin = await make(("t", 1))
        result = await described(admin, describing(TOPIC, "t", documentation=version >= 3), version)
        assert len(result.configs) == 33
        policy = next(config for config in result.configs if config.name == "cleanup.policy")
        assert (policy.value, policy.config_source, policy.synonyms) == ("delete", ConfigSource.DEFAULT, ())
        if version >= 3:
            assert policy.config_type == ConfigType.LIST
            assert policy.documentation

    run(scenario())


def test_a_broker_is_described_with_what_was_altered(make: Make) -> None:
    async def scenario() -> None:
        admin = await make(num_partitions="4", ssl_key_password="hunter2")
        config = incremental_alter_configs.AlterableConfig(name="log.retention.ms", config_operation=0, value="9")
        request = incremental_alter_configs.IncrementalAlterConfigsRequest(
            resources=(
                incremental_alter_configs.AlterConfigsResource(
                    resource_type=BROKER, resource_name="", configs=(config,)
                ),
            )
        )
        await admin.ask("incremental_alter_configs", request)
        configs = {
            config.name: config for config in (await described(admin, describing(BROKER, "1", synonyms=True))).configs
        }
        assert configs["log.retention.ms"].config_source == ConfigSource.DYNAMIC_DEFAULT_BROKER
        assert configs["num.partitions"].value == "4"
        assert configs["num.partitions"].read_only
        assert not configs["log.retention.ms"].read_only
        assert (configs["ssl.key.password"].value, configs["ssl.key.password"].is_sensitive) == (None, True)
        everyones = await described(admin, describing(BROKER, "", synonyms=True))
        assert [(config.name, config.value) for config in everyones.configs] == [
            ("log.retention.ms", "9"),
            ("min.insync.replicas", "1"),  # a cluster-wide value, because of eligible leader replicas
        ]

    run(scenario())


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "nope", ErrorCode.unknown_topic_or_partition),
        (TOPIC, "a b", ErrorCode.invalid_topic_exception),
        (BROKER, "2", ErrorCode.invalid_request),
        (BROKER, "x", ErrorCode.invalid_request),
        (BROKER_LOGGER, "", ErrorCode.invalid_request),
        (BROKER_LOGGER, "2", ErrorCode.invalid_request),
        (CLIENT_METRICS, "", ErrorCode.invalid_request),
        (GROUP, "", ErrorCode.invalid_request),
        (99, "g", ErrorCode.invalid_request),
    ],
)
def test_what_cannot_be_described_is_refused(make: Make, kind: int, name: str, code: ErrorCode) -> None:
    async def scenario() -> None:
        admin = await make()
        result = await described(admin, describing(kind, name))
        assert (result.error_code, result.configs) == (code, ())
        assert result.error_message

    run(scenario())


def test_describe_cluster(make: Make) -> None:
    async def scenario() -> None:
        admin = await make()
        await admin.register(2)
        for version in range(3):
            response = await admin.ask("describe_cluster", DescribeClusterRequest(), version)
            assert (response.cluster_id, response.controller_id) == ("cluster", 1)
            # Bound to all addresses, the broker returns the one the client connected to.
            assert [(broker.broker_id, broker.host) for broker in response.brokers] == [
                (1, "10.0.0.1"),
                (2, "host2"),
            ]
        wrong = await admin.ask("describe_cluster", DescribeClusterRequest(endpoint_type=2))
        assert wrong.error_code is ErrorCode.mismatched_endpoint_type
        unknown = await admin.ask("describe_cluster", DescribeClusterRequest(endpoint_type=7))
        assert unknown.error_code is ErrorCode.unsupported_endpoint_type

    run(scenario())


def test_log_dirs_name_every_partition_once(make: Make, tmp_path: Path) -> None:
    async def scenario() -> None:
        admin = await make(("a", 3), ("b", 1))
        for version in range(1, 6):
            response = await admin.ask("describe_log_dirs", DescribeLogDirsRequest(), version)
            assert [result.log_dir for result in response.results] == [str(tmp_path / "one"), str(tmp_path / "two")]
            found = [
                (topic.name, partition.partition_index, partition.partition_size)
                for result in response.results
                for topic in result.topics
                for partition in topic.partitions
            ]
            assert sorted(found) == [("a", 0, 0), ("a", 1, 0), ("a", 2, 0), ("b", 0, 0)]
        asked = DescribeLogDirsRequest(topics=(DescribableLogDirTopic(topic="a", partitions=(1, 7)),))
        response = await admin.ask("describe_log_dirs", asked)
        assert [topic.name for result in response.results for topic in result.topics] == ["a"]

    run(scenario())


def test_an_offline_log_dir_is_told_and_the_other_still_described(make: Make) -> None:
    async def scenario() -> None:
        admin = await make(("a", 2))
        for index in range(2):
            assert admin.services.replicas.get("a", index).log.size == 0
        broken = admin.store.directory_of(TopicPartition("a", 0))
        assert broken is not None
        broken.health.failure(OSError(5, "Input/output error"), "testing")
        response = await admin.ask("describe_log_dirs", DescribeLogDirsRequest())
        by_path = {result.log_dir: result for result in response.results}
        assert by_path[broken.path].error_code is ErrorCode.kafka_storage_error
        [other] = [result for path, result in by_path.items() if path != broken.path]
        assert [partition.partition_index for topic in other.topics for partition in topic.partitions] == [1]

    run(scenario())


def test_topic_partitions_are_described_page_by_page(make: Make) -> None:
    async def scenario() -> None:
        admin = await make(("a", 3), ("b", 2), ("c", 4))
        seen: list[tuple[str | None, int]] = []
        cursor = None
        for _ in range(9):
            request = DescribeTopicPartitionsRequest(response_partition_limit=2, cursor=cursor)
            response = await admin.ask("describe_topic_partitions", request)
            page = [
                (topic.name, partition.partition_index) for topic in response.topics for partition in topic.partitions
            ]
            assert len(page) <= 2
            seen += page
            cursor = response.next_cursor
            if cursor is None:
                break
        assert seen == [(name, index) for name, count in (("a", 3), ("b", 2), ("c", 4)) for index in range(count)]

    run(scenario())


def test_topic_partitions_by_name(make: Make) -> None:
    async def scenario() -> None:
        admin = await make(("a", 1), max_request_partition_size_limit="5")

        async def ask(*names: str, cursor: Cursor | None = None) -> Any:
            topics = tuple(TopicRequest(name=name) for name in names)
            return await admin.ask(
                "describe_topic_partitions", DescribeTopicPartitionsRequest(topics=topics, cursor=cursor)
            )

        response = await ask("nope", "a b", "a")
        assert [(topic.name, topic.error_code) for topic in response.topics] == [
            ("a", ErrorCode.none),
            ("a b", ErrorCode.invalid_topic_exception),
            ("nope", ErrorCode.unknown_topic_or_partition),
        ]
        partition = response.topics[0].partitions[0]
        assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (1, (1,), (1,))
        stray = await ask("a", cursor=Cursor(topic_name="b", partition_index=0))
        assert [topic.error_code for topic in stray.topics] == [ErrorCode.invalid_request]
        negative = await ask("a", cursor=Cursor(topic_name="a", partition_index=-1))
        assert [topic.error_code for topic in negative.topics] == [ErrorCode.invalid_request]

    run(scenario())
