"""Group administration: list, describe, delete, move offsets."""

import asyncio
from contextlib import closing
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from client_confluent import consumer, deliver, take
from client_records import DEADLINE_S, Sent
from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaPythonPartition

from barnabas.testing import Broker

pytestmark = pytest.mark.clients


@pytest.fixture
def admin(servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": servers})


@pytest.fixture
def filled(broker: Broker, topic: str) -> str:
    broker.create_topic(topic, partitions=2)
    deliver(broker.bootstrap_servers, topic, [Sent(number % 2, None, b"%d" % number) for number in range(10)])
    return topic


def result_of(futures: dict[Any, Any]) -> Any:
    (future,) = futures.values()
    return future.result(DEADLINE_S)


def read_and_commit(servers: str, group: str, topic: str) -> None:
    with consumer(servers, group) as reader:
        reader.subscribe([topic])
        take(reader, 10)
        reader.commit(asynchronous=False)


def test_a_living_group_is_described(admin: AdminClient, servers: str, filled: str, group: str) -> None:
    with consumer(servers, group, **{"client.id": "the-reader"}) as reader:
        reader.subscribe([filled])
        take(reader, 1)
        described = result_of(admin.describe_consumer_groups([group]))
        assert described.state == ConsumerGroupState.STABLE
        assert described.partition_assignor == "range"
        assert described.coordinator.port == int(servers.rpartition(":")[2])
        (member,) = described.members
        assert member.client_id == "the-reader"
        assert member.host.lstrip("/") == "127.0.0.1"
        assert [each.partition for each in member.assignment.topic_partitions] == [0, 1]
        listed = admin.list_consumer_groups(states={ConsumerGroupState.STABLE}).result(DEADLINE_S)
        assert group in {each.group_id for each in listed.valid}
        with pytest.raises(KafkaException) as refused:
            result_of(admin.delete_consumer_groups([group]))
        assert refused.value.args[0].code() == KafkaError.NON_EMPTY_GROUP


def test_an_empty_group_is_listed_moved_and_deleted(admin: AdminClient, servers: str, filled: str, group: str) -> None:
    read_and_commit(servers, group, filled)
    listed = admin.list_consumer_groups(states={ConsumerGroupState.EMPTY}).result(DEADLINE_S)
    assert group in {each.group_id for each in listed.valid}
    offsets = result_of(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))
    assert {(each.partition, each.offset) for each in offsets.topic_partitions} == {(0, 5), (1, 5)}
    moved = ConsumerGroupTopicPartitions(group, [TopicPartition(filled, 0, 2)])
    result_of(admin.alter_consumer_group_offsets([moved]))
    with consumer(servers, group) as reader:
        reader.subscribe([filled])
        message = take(reader, 1)[0]
        assert (message.partition(), message.offset()) == (0, 2)
    result_of(admin.delete_consumer_groups([group]))
    gone = result_of(admin.describe_consumer_groups([group]))
    assert gone.state == ConsumerGroupState.DEAD
    with pytest.raises(KafkaException) as refused:
        result_of(admin.delete_consumer_groups([group]))
    assert refused.value.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND
    with consumer(servers, group) as reader:
        assert [each.offset for each in reader.committed([TopicPartition(filled, 0)], DEADLINE_S)] == [-1001]


def test_kafka_python_administers_groups(servers: str, filled: str, group: str) -> None:
    read_and_commit(servers, group, filled)
    partition = KafkaPythonPartition(filled, 0)
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        assert group in {each["group_id"] for each in admin.list_groups()}
        assert admin.describe_groups([group])[group]["group_state"] == "Empty"
        assert admin.list_group_offsets([group])[group][partition].offset == 5
        admin.delete_group_offsets(group, [partition])
        assert partition not in admin.list_group_offsets([group])[group]
        admin.delete_groups([group])
        assert group not in {each["group_id"] for each in admin.list_groups()}
        assert "GroupIdNotFoundError" in str(admin.delete_groups([group])[group])


def test_aiokafka_administers_groups(servers: str, filled: str, group: str) -> None:
    read_and_commit(servers, group, filled)

    async def administer() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=servers)
        await admin.start()
        try:
            assert group in {name for name, _ in await admin.list_consumer_groups()}
            (described,) = await admin.describe_consumer_groups([group])
            assert described.groups[0][2] == "Empty"
            offsets = await admin.list_consumer_group_offsets(group)
            assert {partition.partition: answer.offset for partition, answer in offsets.items()} == {0: 5, 1: 5}
        finally:
            await admin.close()

    asyncio.run(administer())
