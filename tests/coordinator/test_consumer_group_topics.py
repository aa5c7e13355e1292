"""The hash of the topics that a group subscribes to, against what Apache Kafka 4.3.1 computes."""

import uuid
from dataclasses import replace

from consumer_core import Topics

from barnabas.coordinator.group.common.topics import TopicCatalog, hash_topic
from barnabas.metadata.image import BrokerImage, PartitionImage, TopicImage

PARTITION = PartitionImage(
    replicas=(1, 2), directories=(uuid.UUID(int=9),) * 2, isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
)


def broker(broker_id: int, rack: str | None) -> BrokerImage:
    return BrokerImage(id=broker_id, epoch=1, rack=rack)


def test_the_hash_of_a_topic_is_kafkas() -> None:
    topic = TopicImage(
        id=uuid.UUID("01234567-89ab-cdef-1122-334455667788"),
        name="foo",
        partitions={0: PARTITION, 1: replace(PARTITION, replicas=(3,))},
    )
    # Computed with hash4j as Kafka's Utils.computeTopicHash does: partition 0 has rack r1, partition 1 has none.
    assert hash_topic(topic, {1: broker(1, "r1"), 3: broker(3, None)}) == 7288294859015144814


def test_without_racks_the_shorter_way_is_the_same() -> None:
    topic = TopicImage(id=uuid.UUID(int=5), name="foo", partitions=dict.fromkeys(range(300), PARTITION))
    elsewhere = {9: broker(9, "r")}
    assert hash_topic(topic, {1: broker(1, None)}) == hash_topic(topic, elsewhere)


def test_it_tells_every_change_that_matters() -> None:
    topics = Topics()
    topics.put(a=1, b=1)
    catalog = TopicCatalog(lambda: topics.image)
    hashes = [catalog.hash_of({"a", "b"})]
    assert catalog.hash_of(["b", "a"]) == hashes[0]
    topics.put(a=2)
    hashes.append(catalog.hash_of({"a", "b"}))
    topics.delete("b")
    hashes.append(catalog.hash_of({"a", "b"}))
    topics.put(b=1)
    hashes.append(catalog.hash_of({"a", "b"}))
    topics.delete("a", "b")
    hashes.append(catalog.hash_of({"a", "b"}))
    assert len(set(hashes)) == len(hashes)
    assert hashes[-1] == 0


def test_versions_grow_with_the_topics() -> None:
    topics = Topics()
    topics.put(a=1)
    catalog = TopicCatalog(lambda: topics.image)
    version, names_version = catalog.version, catalog.names_version
    assert catalog.version == version
    topics.put(a=2)
    assert catalog.version > version
    assert catalog.names_version == names_version, "no new topic"
    topics.put(b=1)
    assert catalog.names_version > names_version
