"""Groups of real processes with `group.protocol=consumer`, alone and together with members of the classic protocol."""

from collections.abc import Iterator

import pytest
from client_records import wait_until
from confluent_kafka import ConsumerGroupState, ConsumerGroupType
from confluent_kafka.admin import AdminClient
from group_events import are_killed, come_and_go, come_back
from group_feed import Feed
from group_process import Member, group_of

from barnabas.testing import Broker

pytestmark = pytest.mark.clients

PARTITIONS = 6

# So that members notice soon what has changed, ...
QUICK = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
}
# ... and a killed one is removed soon.
SHORT_SESSIONS = {
    **QUICK,
    "group.consumer.min.session.timeout.ms": "2000",
    "group.consumer.session.timeout.ms": "2000",
    "group.min.session.timeout.ms": "100",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True, properties=SHORT_SESSIONS) as broker:
        yield broker


@pytest.fixture(scope="module")
def default_timeouts_broker() -> Iterator[Broker]:
    """A broker with the default session timeout: a member may be away for a while."""
    with Broker(process=True, properties=QUICK) as broker:
        yield broker


@pytest.fixture
def feed(broker: Broker, topic: str) -> Feed:
    broker.create_topic(topic, partitions=PARTITIONS)
    return Feed(broker.bootstrap_servers, topic, PARTITIONS)


def described(servers: str, group: str) -> tuple[ConsumerGroupType, ConsumerGroupState, int]:
    admin = AdminClient({"bootstrap.servers": servers})
    found = admin.describe_consumer_groups([group])[group].result()
    return found.type, found.state, len(found.members)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_members_come_and_go_and_each_record_is_processed_once(
    broker: Broker, feed: Feed, topic: str, group: str, assignor: str
) -> None:
    with group_of("consumer-protocol", broker.bootstrap_servers, group, topic, assignor) as members:
        come_and_go(members, feed)
        assert described(broker.bootstrap_servers, group) == (ConsumerGroupType.CONSUMER, ConsumerGroupState.STABLE, 1)


def test_killed_members_are_missed_and_their_partitions_taken_over(
    broker: Broker, feed: Feed, topic: str, group: str
) -> None:
    with group_of("consumer-protocol", broker.bootstrap_servers, group, topic, "uniform") as members:
        are_killed(members, feed)


def test_a_static_member_comes_back_to_its_partitions(default_timeouts_broker: Broker, topic: str, group: str) -> None:
    default_timeouts_broker.create_topic(topic, partitions=PARTITIONS)
    feed = Feed(default_timeouts_broker.bootstrap_servers, topic, PARTITIONS)
    with group_of("consumer-protocol", default_timeouts_broker.bootstrap_servers, group, topic, "uniform") as members:
        come_back(members, feed, Member.leave)


def test_a_regular_expression_finds_topics(broker: Broker, topic: str, group: str) -> None:
    servers = broker.bootstrap_servers
    with group_of("consumer-protocol", servers, group, f"^{topic}-.*", "uniform") as members:
        broker.create_topic(f"{topic}-a", partitions=2)
        first = members.join()
        members.wait_for_share((first, 2))
        Feed(servers, f"{topic}-a", 2).send(4)
        members.wait(lambda: len(first.processed) == 4, "what matches is read")


def test_new_partitions_are_assigned_while_the_group_works(broker: Broker, feed: Feed, topic: str, group: str) -> None:
    from confluent_kafka.admin import NewPartitions

    with group_of("consumer-protocol", broker.bootstrap_servers, group, topic, "uniform") as members:
        first, second = members.join(), members.join()
        members.wait_for_share((first, 3), (second, 3))
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_partitions([NewPartitions(topic, 8)])[topic].result()
        members.wait_for_share((first, 4), (second, 4))


def test_a_group_changes_its_protocol_and_back_while_it_works(
    broker: Broker, feed: Feed, topic: str, group: str
) -> None:
    """Classic members, then some of each, then only new ones, and back: everything is read."""
    servers = broker.bootstrap_servers
    with group_of("migrating", servers, group, topic, "range") as members:
        with feed.flowing():
            old, older = members.join(), members.join()
            members.wait_for_share((old, 3), (older, 3))
            assert described(servers, group)[0] is ConsumerGroupType.CLASSIC
            new = members.join(client="consumer-protocol", assignor="uniform")
            members.wait_for_share((old, 2), (older, 2), (new, 2))
            assert described(servers, group) == (ConsumerGroupType.CONSUMER, ConsumerGroupState.STABLE, 3)
            old.leave()
            members.wait_for_share((older, 3), (new, 3))
            newer = members.join(client="consumer-protocol", assignor="uniform")
            older.leave()
            members.wait_for_share((new, 3), (newer, 3))
            back = members.join()
            members.wait_for_share((new, 2), (newer, 2), (back, 2))
            new.leave()
            newer.leave()
            members.wait_for_share((back, 6))
            wait_until(lambda: described(servers, group)[0] is ConsumerGroupType.CLASSIC, "the group is classic again")
        # A classic member whose commit coincides with the change reads some records again.
        feed.wait_until_read_by(members)
        assert set(members.processed()) == set(feed.acknowledged)


def test_the_group_lives_on_after_the_broker_was_killed(
    default_timeouts_broker: Broker, topic: str, group: str
) -> None:
    default_timeouts_broker.create_topic(topic, partitions=PARTITIONS)
    feed = Feed(default_timeouts_broker.bootstrap_servers, topic, PARTITIONS)
    with group_of("consumer-protocol", default_timeouts_broker.bootstrap_servers, group, topic, "uniform") as members:
        first, second = members.join(), members.join()
        members.wait_for_share((first, 3), (second, 3))
        feed.send()
        feed.wait_until_read_by(members)
        assignments_before = first.assignments
        default_timeouts_broker.kill()
        default_timeouts_broker.start()
        feed.send()
        feed.wait_until_read_by(members)
        assert (len(first.assigned), len(second.assigned)) == (3, 3)
        assert first.assignments == assignments_before, "nothing has moved"
