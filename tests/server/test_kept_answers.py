"""Answers that are kept until the image changes are those that would be made anew."""

import pytest

from barnabas.server import kept_answers
from barnabas.server.kept_answers import Asked, KeptAnswers
from barnabas.testing import Broker
from barnabas.testing.client import Client, create_topic
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic


def partitions_of(client: Client, topic: str) -> int | ErrorCode:
    request = MetadataRequest(topics=(MetadataRequestTopic(name=topic),), allow_auto_topic_creation=False)
    answers = [client.call("metadata", 12, request) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    (found,) = answers[0].topics
    return len(found.partitions) if found.error_code is ErrorCode.none else found.error_code


def test_metadata_follows_every_change() -> None:
    with Broker() as broker, broker.connect() as client:
        assert partitions_of(client, "t") is ErrorCode.unknown_topic_or_partition
        create_topic(client, "t", partitions=2)
        assert partitions_of(client, "t") == 2
        more = CreatePartitionsTopic(name="t", count=5, assignments=None)
        client.call("create_partitions", 3, CreatePartitionsRequest(topics=(more,)))
        assert partitions_of(client, "t") == 5
        client.call("delete_topics", 5, DeleteTopicsRequest(topic_names=("t",)))
        assert partitions_of(client, "t") is ErrorCode.unknown_topic_or_partition


def test_a_topic_is_created_by_the_first_request_and_found_by_the_next() -> None:
    with Broker() as broker, broker.connect() as client:
        request = MetadataRequest(topics=(MetadataRequestTopic(name="t"),), allow_auto_topic_creation=True)
        first, second, third = (client.call("metadata", 12, request).topics for _ in range(3))
        assert first[0].error_code is ErrorCode.none
        assert first == second == third


@pytest.mark.parametrize("version", [3, 4])
def test_a_coordinator_is_found_before_and_after_its_topic_exists(version: int) -> None:
    with Broker() as broker, broker.connect() as client:
        request = FindCoordinatorRequest(key="g", coordinator_keys=("g",))
        first, second, third = (client.call("find_coordinator", version, request) for _ in range(3))
        assert first == second == third
        found = first.coordinators[0] if version == 4 else first
        assert (found.error_code, found.port) == (ErrorCode.none, broker.port)


def test_a_request_that_is_too_long_to_be_kept_is_answered_alike() -> None:
    with Broker() as broker, broker.connect() as client:
        names = [f"{'x' * 200}-{number}" for number in range(2 * kept_answers.REQUEST_BYTES_MAX // 200)]
        wanted = tuple(MetadataRequestTopic(name=name) for name in names)
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        first, second = (client.call("metadata", 12, request).topics for _ in range(2))
        assert first == second
        assert [topic.name for topic in first] == names


def asked(number: int) -> Asked:
    return Asked(3, 12, "PLAINTEXT", "127.0.0.1", b"%d" % number)


def test_memory_is_bounded() -> None:
    kept, image = KeptAnswers(), object()
    for number in range(3 * kept_answers.ANSWERS_MAX):
        kept.keep(asked(number), image, b"answer")
        assert kept.get(asked(number), image) == b"answer"
    found = [number for number in range(3 * kept_answers.ANSWERS_MAX) if kept.get(asked(number), image)]
    assert len(found) <= kept_answers.ANSWERS_MAX
    kept.keep(asked(2), image, bytes(kept_answers.ANSWER_BYTES_MAX + 1))
    assert kept.get(asked(2), image) is None


def test_nothing_of_another_image_is_given() -> None:
    kept, first, second = KeptAnswers(), object(), object()
    kept.keep(asked(1), first, b"of the first")
    assert kept.get(asked(1), second) is None
    kept.keep(asked(1), second, b"of the second")
    assert kept.get(asked(1), first) is None
    assert kept.get(asked(1), second) == b"of the second"


def test_who_came_to_another_address_or_listener_is_answered_anew() -> None:
    kept, image = KeptAnswers(), object()
    kept.keep(asked(1), image, b"answer")
    for change in ({"local_host": "127.0.0.2"}, {"listener_name": "OTHER"}, {"version": 11}, {"api_key": 10}):
        assert kept.get(asked(1)._replace(**change), image) is None
