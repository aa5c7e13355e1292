"""Administration of topics and configs with each client's own API."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.admin import NewPartitions as AioNewPartitions
from aiokafka.admin import NewTopic as AioNewTopic
from aiokafka.admin.config_resource import ConfigResource as AioConfigResource
from aiokafka.admin.config_resource import ConfigResourceType as AioConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError as AioTopicAlreadyExists
from aiokafka.structs import TopicPartition as AioTopicPartition
from client_confluent import ConfluentKafka, consumer, deliver
from client_kcat import run as run_kcat
from client_records import DEADLINE_S, Sent, wait_until
from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)
from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaPythonPartition
from kafka.admin import ConfigResource as KafkaPythonConfigResource
from kafka.admin import NewTopic as KafkaPythonNewTopic
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

from barnabas.testing import Broker

pytestmark = pytest.mark.clients

CONFIG = {"retention.ms": "86400000", "cleanup.policy": "compact,delete"}


@pytest.fixture
def admin(servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": servers})


@pytest.fixture
def kafka_python_admin(servers: str) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        yield admin


def result_of(futures: dict[Any, Any]) -> Any:
    (future,) = futures.values()
    return future.result(DEADLINE_S)


def code_of(futures: dict[Any, Any]) -> int:
    """The error that the only one of these futures ends in."""
    with pytest.raises(KafkaException) as refused:
        result_of(futures)
    code: int = refused.value.args[0].code()
    return code


def topic_configs(admin: AdminClient, topic: str) -> dict[str, ConfigEntry]:
    configs: dict[str, ConfigEntry] = result_of(admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))
    return configs


def test_confluent_kafka_creates_grows_and_deletes_a_topic(admin: AdminClient, topic: str) -> None:
    result_of(admin.create_topics([NewTopic(topic, 3, 1, config=CONFIG)]))
    described = result_of(admin.describe_topics(TopicCollection([topic])))
    assert len(described.partitions) == 3
    assert str(described.topic_id) != "AAAAAAAAAAAAAAAAAAAAAA"
    configs = topic_configs(admin, topic)
    assert {name: configs[name].value for name in CONFIG} == CONFIG
    assert code_of(admin.create_topics([NewTopic(topic, 3, 1)])) == KafkaError.TOPIC_ALREADY_EXISTS
    result_of(admin.create_partitions([NewPartitions(topic, 5)]))
    wait_until(lambda: len(admin.list_topics(topic).topics[topic].partitions) == 5, "five partitions")
    assert code_of(admin.create_partitions([NewPartitions(topic, 2)])) == KafkaError.INVALID_PARTITIONS
    result_of(admin.delete_topics([topic]))
    wait_until(lambda: topic not in admin.list_topics().topics, "the topic is gone")
    assert code_of(admin.delete_topics([topic])) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_what_cannot_be_created_is_refused(admin: AdminClient, topic: str) -> None:
    refusals = {
        KafkaError.INVALID_CONFIG: NewTopic(topic, 1, 1, config={"retention.ms": "soon"}),
        KafkaError.INVALID_REPLICATION_FACTOR: NewTopic(topic, 1, 3),
        KafkaError.INVALID_PARTITIONS: NewTopic(topic, 0, 1),
        KafkaError.TOPIC_EXCEPTION: NewTopic("what a name!", 1, 1),
    }
    for code, wanted in refusals.items():
        assert code_of(admin.create_topics([wanted])) == code
    result_of(admin.create_topics([NewTopic(topic, 1, 1)], validate_only=True))
    assert topic not in admin.list_topics().topics
    result_of(admin.create_topics([NewTopic(topic)]))  # the broker's own partition count and replication factor
    assert len(admin.list_topics(topic).topics[topic].partitions) == 1


def test_kafka_python_creates_grows_and_deletes_a_topic(kafka_python_admin: KafkaAdminClient, topic: str) -> None:
    admin = kafka_python_admin
    wanted = KafkaPythonNewTopic(name=topic, num_partitions=2, replication_factor=1, topic_configs=CONFIG)
    admin.create_topics([wanted])
    assert topic in admin.list_topics()
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([wanted])
    resource = KafkaPythonConfigResource("TOPIC", topic)
    configs = admin.describe_configs([resource])["topic"][topic]
    assert {name: entry["value"] for name, entry in configs.items()} == CONFIG
    admin.create_partitions({topic: 4})
    (described,) = admin.describe_topics([topic])
    assert len(described["partitions"]) == 4
    admin.alter_configs([KafkaPythonConfigResource("TOPIC", topic, configs={"retention.ms": "1000"})])
    assert admin.describe_configs([resource])["topic"][topic]["retention.ms"]["value"] == "1000"
    refused = admin.alter_configs([KafkaPythonConfigResource("TOPIC", topic, configs={"retention.ms": "soon"})])
    assert "InvalidConfigurationError" in refused["topic"][topic]
    (node,) = admin.describe_log_dirs()
    (directory,) = node["log_dirs"]
    assert topic in {each["name"] for each in directory["topics"]}
    admin.delete_topics([topic])
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([topic])


def test_aiokafka_creates_grows_and_deletes_a_topic(servers: str, topic: str) -> None:
    async def administer() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=servers)
        await admin.start()
        try:
            wanted = AioNewTopic(topic, num_partitions=2, replication_factor=1, topic_configs=CONFIG)
            await admin.create_topics([wanted])
            response = await admin.create_topics([wanted])
            assert response.topic_errors[0][1] == AioTopicAlreadyExists.errno
            assert topic in await admin.list_topics()
            await admin.create_partitions({topic: AioNewPartitions(3)})
            (described,) = await admin.describe_topics([topic])
            assert len(described["partitions"]) == 3
            resource = AioConfigResource(AioConfigResourceType.TOPIC, topic)
            (answer,) = await admin.describe_configs([resource])
            values = {entry[0]: entry[1] for entry in answer.resources[0][4]}
            assert {name: values[name] for name in CONFIG} == CONFIG
            await admin.delete_records({AioTopicPartition(topic, 0): RecordsToDelete(before_offset=0)})
            await admin.delete_topics([topic])
            assert topic not in await admin.list_topics()
        finally:
            await admin.close()

    asyncio.run(administer())


def test_configs_are_altered_one_by_one(admin: AdminClient, broker: Broker, topic: str) -> None:
    broker.create_topic(topic, config={"cleanup.policy": "delete"})

    def alter(name: str, value: str | None, operation: AlterConfigOpType) -> dict[Any, Any]:
        entry = ConfigEntry(name, value, incremental_operation=operation)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        futures: dict[Any, Any] = admin.incremental_alter_configs([resource])
        return futures

    result_of(alter("cleanup.policy", "compact", AlterConfigOpType.APPEND))
    assert topic_configs(admin, topic)["cleanup.policy"].value == "delete,compact"
    result_of(alter("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT))
    assert topic_configs(admin, topic)["cleanup.policy"].value == "compact"
    result_of(alter("retention.bytes", "12345", AlterConfigOpType.SET))
    entry = topic_configs(admin, topic)["retention.bytes"]
    assert (entry.value, ConfigSource(entry.source)) == ("12345", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    result_of(alter("retention.bytes", None, AlterConfigOpType.DELETE))
    entry = topic_configs(admin, topic)["retention.bytes"]
    assert (entry.value, entry.is_default) == ("-1", True)
    assert code_of(alter("no.such.config", "1", AlterConfigOpType.SET)) == KafkaError.INVALID_CONFIG


def test_the_brokers_configs_are_described(admin: AdminClient) -> None:
    (node,) = admin.list_topics().brokers
    configs = result_of(admin.describe_configs([ConfigResource(ResourceType.BROKER, str(node))]))
    entry = configs["group.min.session.timeout.ms"]
    assert (entry.value, ConfigSource(entry.source)) == ("100", ConfigSource.STATIC_BROKER_CONFIG)
    assert configs["log.retention.hours"].is_default
    cluster = admin.describe_cluster().result(DEADLINE_S)
    assert [each.id for each in cluster.nodes] == [node]
    assert cluster.controller.id == node


def test_the_dynamic_config_of_a_broker_acts(admin: AdminClient, topic: str) -> None:
    (node,) = admin.list_topics().brokers

    def alter(value: str | None, operation: AlterConfigOpType) -> None:
        entry = ConfigEntry("log.retention.ms", value, incremental_operation=operation)
        resource = ConfigResource(ResourceType.BROKER, str(node), incremental_configs=[entry])
        result_of(admin.incremental_alter_configs([resource]))

    result_of(admin.create_topics([NewTopic(topic, 1, 1)]))
    alter("7777777", AlterConfigOpType.SET)
    try:
        entry = topic_configs(admin, topic)["retention.ms"]
        assert entry.value == "7777777"
        assert ConfigSource(entry.source) == ConfigSource.DYNAMIC_BROKER_CONFIG
    finally:
        alter(None, AlterConfigOpType.DELETE)
    assert topic_configs(admin, topic)["retention.ms"].value == "604800000"


def test_deleted_records_are_gone_for_all(
    admin: AdminClient, kafka_python_admin: KafkaAdminClient, servers: str, topic: str
) -> None:
    result_of(admin.create_topics([NewTopic(topic, 1, 1)]))
    deliver(servers, topic, [Sent(0, None, b"%d" % number) for number in range(10)])
    assert result_of(admin.delete_records([TopicPartition(topic, 0, 4)])).low_watermark == 4
    with consumer(servers, "unused") as reader:
        assert reader.get_watermark_offsets(TopicPartition(topic, 0)) == (4, 10)
        reader.assign([TopicPartition(topic, 0, 0)])  # out of range: reset to the earliest
        assert reader.consume(1, DEADLINE_S)[0].offset() == 4
    kafka_python_admin.delete_records({KafkaPythonPartition(topic, 0): 6})
    assert run_kcat("-b", servers, "-Q", "-t", f"{topic}:0:-2").split()[-1] == b"6"
    assert code_of(admin.delete_records([TopicPartition(topic, 0, 11)])) == KafkaError.OFFSET_OUT_OF_RANGE
    everything = [TopicPartition(topic, 0, -1)]
    assert result_of(admin.delete_records(everything)).low_watermark == 10
    deliver(servers, topic, [Sent(0, None, b"new")])
    with consumer(servers, "unused") as reader:
        reader.assign([TopicPartition(topic, 0, 0)])
        assert reader.consume(1, DEADLINE_S)[0].value() == b"new"


def test_list_offsets_of_every_kind(admin: AdminClient, servers: str, topic: str) -> None:
    result_of(admin.create_topics([NewTopic(topic, 1, 1)]))
    times = (5000, 9000, 7000)
    deliver(servers, topic, [Sent(0, None, b"v", (), 1_700_000_000_000 + time) for time in times])
    specs = {
        OffsetSpec.earliest(): 0,
        OffsetSpec.latest(): 3,
        OffsetSpec.max_timestamp(): 1,
        OffsetSpec.for_timestamp(1_700_000_006_000): 1,
    }
    for spec, offset in specs.items():
        assert result_of(admin.list_offsets({TopicPartition(topic, 0): spec})).offset == offset


def test_a_topic_made_anew_is_another_topic(admin: AdminClient, servers: str, topic: str) -> None:
    writer = ConfluentKafka()
    for round_number in range(3):
        result_of(admin.create_topics([NewTopic(topic, 1, 1)]))
        wait_until(lambda: not admin.list_topics(topic).topics[topic].error, "the topic is known")
        assert writer.write(servers, topic, [Sent(0, None, b"%d" % round_number)]) == [0]
        assert [seen.value for seen in writer.read(servers, topic, {0: 1})] == [b"%d" % round_number]
        result_of(admin.delete_topics([topic]))


def test_kcat_lists_the_cluster(broker: Broker, topic: str) -> None:
    broker.create_topic(topic, partitions=2)
    listing = run_kcat("-b", broker.bootstrap_servers, "-L", "-t", topic).decode()
    assert f'topic "{topic}" with 2 partitions' in listing
    assert "isrs: " in listing
    assert "(controller)" in listing
