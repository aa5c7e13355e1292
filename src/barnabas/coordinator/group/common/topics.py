"""The cluster's topics as groups see them: ids, partition counts, and a hash that changes with them.

A group stores the hash of the topics it subscribes to. It compares hashes only when the catalog's `version` has changed
since the last time, so a heartbeat notices new topics, partitions and racks at the cost of comparing two numbers. The
hashes are exactly those of Kafka 4.3, so a log directory that moves between the two causes no rebalance.
"""

import struct
import uuid
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import xxhash

from barnabas.metadata.image import BrokerImage, ClusterImage, TopicImage, TopicsImage

_HASH_FORMAT = 0
"""Kafka hashes this version byte first, so that a later algorithm gives other hashes."""


class TopicCatalog:
    """Shared by all partitions of a coordinator. Always reads the current image."""

    def __init__(self, image: Callable[[], ClusterImage]) -> None:
        self._image = image
        self._topics: TopicsImage | None = None
        self._brokers: Mapping[int, BrokerImage] | None = None
        self._version = 0
        self._names_version = 0
        self._hashes: dict[str, tuple[TopicImage, int]] = {}

    @property
    def topics(self) -> TopicsImage:
        self._refresh()
        assert self._topics is not None
        return self._topics

    @property
    def version(self) -> int:
        """Grows whenever a topic, a partition or a broker may have changed."""
        self._refresh()
        return self._version

    @property
    def names_version(self) -> int:
        """The offset in the metadata log of the newest topic that was seen."""
        self._refresh()
        return self._names_version

    def topic_ids(self, names: Iterable[str]) -> frozenset[uuid.UUID]:
        """The ids of the existing ones."""
        by_name = self.topics.by_name
        return frozenset(topic.id for name in names if (topic := by_name.get(name)) is not None)

    def hash_of(self, names: Iterable[str]) -> int:
        by_name = self.topics.by_name
        hashes = [self._topic_hash(by_name[name]) for name in sorted(names, key=utf16_order) if name in by_name]
        if not hashes:
            return 0
        return _signed(xxhash.xxh3_64_intdigest(struct.pack(f"<{len(hashes)}q", *hashes)))

    def _refresh(self) -> None:
        image = self._image()
        if image.topics is self._topics and image.brokers is self._brokers:
            return
        before = {} if self._topics is None else self._topics.by_name
        if self._topics is None or image.topics.by_name.keys() - before.keys():
            self._names_version = image.offset
        if image.brokers is not self._brokers:
            self._hashes.clear()  # racks
        self._topics, self._brokers = image.topics, image.brokers
        self._version += 1

    def _topic_hash(self, topic: TopicImage) -> int:
        known = self._hashes.get(topic.name)
        if known is not None and known[0] is topic:
            return known[1]
        assert self._brokers is not None
        topic_hash = hash_topic(topic, self._brokers)
        self._hashes[topic.name] = (topic, topic_hash)
        return topic_hash


def hash_topic(topic: TopicImage, brokers: Mapping[int, BrokerImage]) -> int:
    high, low = divmod(topic.id.int, 1 << 64)
    count = len(topic.partitions)
    hasher = xxhash.xxh3_64(struct.pack("<bQQ", _HASH_FORMAT, high, low) + _string(topic.name))
    hasher.update(struct.pack("<i", count))
    racks = {broker.id: broker.rack for broker in brokers.values() if broker.rack is not None}
    if not racks:
        hasher.update(struct.pack(f"<{count}i", *range(count)))
        return _signed(hasher.intdigest())
    for index in range(count):
        hasher.update(struct.pack("<i", index))
        replicas = topic.partitions[index].replicas if index in topic.partitions else ()
        for rack in sorted(racks[replica] for replica in replicas if replica in racks):
            hasher.update(struct.pack("<i", len(rack.encode("utf-16-le")) // 2) + _string(rack))
    return _signed(hasher.intdigest())


@lru_cache(maxsize=1_024)
def shared_names(names: frozenset[str]) -> frozenset[str]:
    """Returns the same object for equal sets, because members' topics are compared whenever one joins."""
    return names


@lru_cache(maxsize=16_384)
def utf16_order(text: str) -> bytes:
    """Sort key for Java's order of strings: UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def _string(text: str) -> bytes:
    units = text.encode("utf-16-le", "surrogatepass")
    return units + struct.pack("<i", len(units) // 2)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
