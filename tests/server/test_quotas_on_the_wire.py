"""Quotas over the wire: throttle times, and that a throttled client's requests are not read meanwhile."""

import contextlib
import datetime
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas.records.record import Record, build_batch
from barnabas.testing import Broker
from barnabas.testing.client import Client, ConnectionClosed
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

SECONDS_5 = datetime.timedelta(seconds=5)
NO_TIME = datetime.timedelta()
# Small enough for a few kilobytes to exceed it, and large enough for a short throttle time.
BYTES_PER_SECOND = 20_000
NO_SUCH = ComponentData(entity_type="shoe-size", match_type=0, match="44")


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        running.create_topic("t")
        yield running


@pytest.fixture
def limit(broker: Broker) -> Iterator[Callable[..., None]]:
    """Sets quotas for entities, and removes them after the test."""
    done: list[tuple[dict[str, str | None], str]] = []

    def alter(entity: dict[str, str | None], kind: str, value: float | None) -> None:
        parts = tuple(EntityData(entity_type=name, entity_name=which) for name, which in entity.items())
        operation = OpData(key=kind, value=value or 0.0, remove=value is None)
        with broker.connect() as client:
            request = AlterClientQuotasRequest(entries=(EntryData(entity=parts, ops=(operation,)),))
            (entry,) = client.call("alter_client_quotas", 1, request).entries
        assert entry.error_code is ErrorCode.none, entry.error_message

    def set_limit(kind: str, value: float, **entity: str | None) -> None:
        named = {name.replace("_", "-"): which for name, which in entity.items()}
        done.append((named, kind))
        alter(named, kind, value)

    yield set_limit
    for named, kind in done:
        alter(named, kind, None)


def connect(broker: Broker, client_id: str) -> Client:
    return Client("127.0.0.1", broker.port, client_id=client_id, timeout_s=30)


def produce(size: int, *, acks: int = -1) -> ProduceRequest:
    batch = build_batch([Record(timestamp=1, value=bytes(size))])
    data = TopicProduceData(name="t", partition_data=(PartitionProduceData(index=0, records=batch),))
    return ProduceRequest(acks=acks, timeout=SECONDS_5, topic_data=(data,))


def fetch(offset: int = 0, *, session: tuple[int, int] = (0, -1), max_bytes: int = 1_000_000) -> FetchRequest:
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(
        max_wait=SECONDS_5,
        min_bytes=1,
        max_bytes=max_bytes,
        session_id=session[0],
        session_epoch=session[1],
        topics=(FetchTopic(topic="t", partitions=(asked,)),),
    )


def assert_not_answered(client: Client) -> None:
    """A request sent now is not answered: the throttle time has seconds left."""
    client.send("metadata", 12, MetadataRequest(topics=()))
    client._socket.settimeout(0.1)
    with pytest.raises(TimeoutError):
        client.receive_frame()


def test_a_producer_that_is_too_fast_is_told_and_not_heard(broker: Broker, limit: Callable[..., None]) -> None:
    limit("producer_byte_rate", BYTES_PER_SECOND, client_id="fast")
    with connect(broker, "fast") as client:
        assert client.call("produce", 12, produce(1000)).throttle_time == NO_TIME
        # 400 kB where 200 kB may come at once: the rest is ten seconds' worth.
        answer = client.call("produce", 12, produce(400_000))
        assert answer.responses[0].partition_responses[0].error_code is ErrorCode.none
        assert datetime.timedelta(seconds=8) < answer.throttle_time < datetime.timedelta(seconds=12)
        assert_not_answered(client)
    with connect(broker, "another") as client:
        assert client.call("produce", 12, produce(400_000)).throttle_time == NO_TIME


@pytest.mark.parametrize("version", [3, 8, 9, 12])
@pytest.mark.parametrize(("kind", "value"), [("producer_byte_rate", BYTES_PER_SECOND), ("request_percentage", 0.0001)])
def test_small_requests_are_charged_too(
    broker: Broker, limit: Callable[..., None], version: int, kind: str, value: float
) -> None:
    """The fast path takes them."""
    with connect(broker, "first") as client:
        client.call("produce", version, produce(1))  # opens the log, which the fast path does not do
    limit(kind, value, client_id=f"{kind}-{version}")
    with connect(broker, f"{kind}-{version}") as client:
        throttled = [client.call("produce", version, produce(70_000)).throttle_time > NO_TIME]
        while not throttled[-1]:
            throttled.append(client.call("produce", version, produce(70_000)).throttle_time > NO_TIME)
        assert len(throttled) == (3 if kind == "producer_byte_rate" else 1)
        assert_not_answered(client)


def test_a_producer_without_acks_is_not_heard_either(broker: Broker, limit: Callable[..., None]) -> None:
    limit("producer_byte_rate", BYTES_PER_SECOND, client_id="silent")
    with connect(broker, "silent") as client:
        client.send("produce", 12, produce(400_000, acks=0))
        client.forget()
        assert_not_answered(client)


def test_after_its_rest_a_client_is_heard_again(broker: Broker, limit: Callable[..., None]) -> None:
    limit("producer_byte_rate", BYTES_PER_SECOND, client_id="short")
    with connect(broker, "short") as client:
        assert client.call("produce", 12, produce(205_000)).throttle_time > NO_TIME
        assert client.call("metadata", 12, MetadataRequest(topics=())).throttle_time == NO_TIME


@pytest.mark.parametrize("version", [4, 11, 12])
def test_a_consumer_that_is_too_fast_gets_nothing_until_later(
    broker: Broker, limit: Callable[..., None], version: int
) -> None:
    client_id = f"reader{version}"
    with connect(broker, "writer") as client:
        client.call("produce", 12, produce(150_000))
    limit("consumer_byte_rate", BYTES_PER_SECOND, client_id=client_id)
    with connect(broker, client_id) as client:
        got, throttled = 0, 0
        while not throttled:
            answer = client.call("fetch", version, fetch())
            if answer.throttle_time:
                throttled += 1
                assert answer.responses == ()
            else:
                got += len(answer.responses[0].partitions[0].records)
        # Never more at once than ten windows hold, and one batch even if it is larger than what is left of them.
        assert got <= BYTES_PER_SECOND * 10 + 220_000


def test_a_throttled_session_is_not_begun_and_one_that_was_goes_on(broker: Broker, limit: Callable[..., None]) -> None:
    with connect(broker, "session") as client:
        client.call("produce", 12, produce(1000))
        opened = client.call("fetch", 12, fetch(session=(0, 0)))
        assert opened.session_id > 0
        limit("consumer_byte_rate", 1.0, client_id="session")
        # One byte a second: what the session has to say is far too much, so it says nothing, and loses nothing.
        silent = client.call("fetch", 12, fetch(session=(opened.session_id, 1)))
        assert (silent.session_id, silent.responses) == (opened.session_id, ())
        assert silent.throttle_time > NO_TIME
    with connect(broker, "session") as client:
        refused = client.call("fetch", 12, fetch(session=(0, 0)))
        assert (refused.session_id, refused.responses) == (0, ())
        assert refused.throttle_time > NO_TIME


def ask(broker: Broker, client_id: str, api: str, version: int, request: object) -> Any:
    """On a new connection: the one that was used before may be throttled."""
    with connect(broker, client_id) as client:
        return client.call(api, version, request)


def test_any_request_rests_where_its_client_worked_too_much(broker: Broker, limit: Callable[..., None]) -> None:
    limit("request_percentage", 0.000_001, user="ANONYMOUS", client_id="busy")
    second = datetime.timedelta(seconds=1)
    assert ask(broker, "busy", "metadata", 12, MetadataRequest()).throttle_time == second
    software = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    assert ask(broker, "busy", "api_versions", 4, software).throttle_time == second
    # An error of the whole request is an answer like any other.
    refused = ask(broker, "busy", "describe_client_quotas", 1, DescribeClientQuotasRequest(components=(NO_SUCH,)))
    assert (refused.error_code, refused.throttle_time) == (ErrorCode.unsupported_version, second)


def test_partitions_made_too_fast_are_refused(broker: Broker, limit: Callable[..., None]) -> None:
    # One partition in ten seconds, and a burst of eleven windows of a second.
    limit("controller_mutation_rate", 0.1, user="ANONYMOUS")
    topics = tuple(CreatableTopic(name=f"made{number}", num_partitions=3, replication_factor=1) for number in range(2))
    answer = ask(broker, "admin", "create_topics", 7, CreateTopicsRequest(topics=topics))
    assert [topic.error_code for topic in answer.topics] == [ErrorCode.none, ErrorCode.throttling_quota_exceeded]
    assert answer.throttle_time > NO_TIME
    grown = CreatePartitionsTopic(name="made0", count=4, assignments=None)
    more = ask(broker, "admin", "create_partitions", 3, CreatePartitionsRequest(topics=(grown,)))
    assert more.results[0].error_code is ErrorCode.throttling_quota_exceeded
    assert more.throttle_time > NO_TIME
    deletion = DeleteTopicsRequest(topic_names=("made0",))
    deleted = ask(broker, "admin", "delete_topics", 5, deletion)
    assert deleted.responses[0].error_code is ErrorCode.throttling_quota_exceeded
    # Older versions do not know the error: they are served, with a throttle time.
    old = ask(broker, "admin", "delete_topics", 4, deletion)
    assert old.responses[0].error_code is ErrorCode.none
    assert old.throttle_time > answer.throttle_time


def test_an_address_that_connects_too_often_is_held_and_closed(broker: Broker, limit: Callable[..., None]) -> None:
    with broker.connect() as first, contextlib.ExitStack() as opened:
        limit("connection_creation_rate", 1.0, ip="127.0.0.1")
        refused = 0
        for _ in range(20):
            connected = opened.enter_context(socket.create_connection(("127.0.0.1", broker.port), timeout=30))
            client = opened.enter_context(contextlib.closing(Client.__new__(Client)))
            client._socket = connected
            connected.settimeout(0.05)
            with contextlib.suppress(TimeoutError):
                if connected.recv(1) == b"":
                    refused += 1
                    break
        else:
            connected.settimeout(30)
            refused += connected.recv(1) == b""
        assert refused
        # Connections that were there before are not disturbed, and can lift the quota.
        entity = (EntityData(entity_type="ip", entity_name="127.0.0.1"),)
        lift = OpData(key="connection_creation_rate", value=0.0, remove=True)
        request = AlterClientQuotasRequest(entries=(EntryData(entity=entity, ops=(lift,)),))
        assert first.call("alter_client_quotas", 1, request).entries[0].error_code is ErrorCode.none
    with broker.connect() as again:
        again.call("metadata", 12, MetadataRequest(topics=()))


def test_without_quotas_nothing_is_throttled(broker: Broker) -> None:
    with connect(broker, "free") as client:
        try:
            for _ in range(20):
                assert client.call("produce", 12, produce(200_000)).throttle_time == NO_TIME
        except ConnectionClosed:
            pytest.fail("the connection was closed")
