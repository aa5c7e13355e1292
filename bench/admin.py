"""Sets up topics with leaders before a measurement, and checks afterwards how many records arrived."""

import time
from collections.abc import Iterable, Mapping
from datetime import timedelta
from uuid import UUID

from barnabas.testing.client import Client, create_topic
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from bench.sockets import HOST, TIMEOUT_S, Refused

_POLL_S = 0.01
_LATEST = -1


def connect_client(port: int) -> Client:
    return Client(HOST, port, timeout_s=TIMEOUT_S)


def make_topic(port: int, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
    """Create it and wait until every partition has a leader that answers: Kafka's CreateTopics returns before that."""
    with connect_client(port) as client:
        create_topic(client, name, partitions=partitions, config=config)
    wait_until_led(port, name, partitions)


def wait_until_led(port: int, name: str, partitions: int) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    with connect_client(port) as client:
        while time.monotonic() < deadline:
            if None not in _end_offsets(client, name, range(partitions)):
                return
            time.sleep(_POLL_S)
    raise TimeoutError(f"not all partitions of {name} have a leader after {TIMEOUT_S:.0f} s")


def topic_id_of(port: int, name: str) -> UUID:
    with connect_client(port) as client:
        (topic,) = client.call("metadata", 12, MetadataRequest(topics=(MetadataRequestTopic(name=name),))).topics
    if not isinstance(topic.topic_id, UUID):
        raise Refused(f"topic {name} has no id: {topic.error_code.name}")
    return topic.topic_id


def drop_topic(port: int, name: str) -> None:
    with connect_client(port) as client:
        request = DeleteTopicsRequest(topic_names=(name,), timeout=timedelta(seconds=TIMEOUT_S))
        (result,) = client.call("delete_topics", 5, request).responses
    if result.error_code != ErrorCode.none:
        raise Refused(f"topic {name} was not deleted: {result.error_code.name}")


def records_in(port: int, name: str, partitions: int = 1) -> int:
    """How many records a topic has, if none were ever deleted."""
    with connect_client(port) as client:
        ends = _end_offsets(client, name, range(partitions))
    return sum(end for end in ends if end is not None)


def expect_records(port: int, name: str, count: int, partitions: int = 1) -> None:
    found = records_in(port, name, partitions)
    if found != count:
        raise Refused(f"{name} has {found} records where {count} were acknowledged")


def _end_offsets(client: Client, name: str, partitions: Iterable[int]) -> list[int | None]:
    wanted = tuple(ListOffsetsPartition(partition_index=index, timestamp=_LATEST) for index in partitions)
    request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=name, partitions=wanted),))
    answer = client.call("list_offsets", 9, request)
    return [
        one.offset if one.error_code == ErrorCode.none else None for topic in answer.topics for one in topic.partitions
    ]
