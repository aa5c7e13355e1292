"""Fetches the committed offsets of a group."""

import time
from collections.abc import Sequence

from confluent_kafka import Consumer, TopicPartition

from barnabas.testing.checker.events import Offsets


def ask_offsets(
    consumer: Consumer, process: str, group: str, partitions: Sequence[tuple[str, int]], timeout_s: float
) -> Offsets:
    """Raises KafkaException. Without a commit the offset is 0."""
    asked = round(time.monotonic(), 6)
    answer = consumer.committed([TopicPartition(*each) for each in partitions], timeout=timeout_s)
    offsets = {f"{each.topic}-{each.partition}": max(each.offset, 0) for each in answer if each.error is None}
    return Offsets(t=round(time.monotonic(), 6), p=process, group=group, asked=asked, offsets=offsets)
