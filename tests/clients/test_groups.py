"""Groups of real processes: members join, leave, die and come back, and the group reads all there is."""

import pytest
from client_kcat import path as kcat_path
from client_records import wait_until
from confluent_kafka.admin import AdminClient
from group_events import are_killed, come_and_go, come_back
from group_feed import Feed
from group_process import Member, group_of
from kcat_member import kcat_member

from barnabas.testing import Broker

pytestmark = pytest.mark.clients

PARTITIONS = 6

EAGER_AND_COOPERATIVE = [
    ("confluent-kafka", "range"),
    ("confluent-kafka", "roundrobin"),
    ("confluent-kafka", "cooperative-sticky"),
    ("kafka-python", "range"),
    ("kafka-python", "cooperative-sticky"),
    ("aiokafka", "roundrobin"),
    ("aiokafka", "sticky"),
]
ONE_OF_EACH = [("confluent-kafka", "cooperative-sticky"), ("kafka-python", "range"), ("aiokafka", "roundrobin")]


@pytest.fixture
def feed(broker: Broker, topic: str) -> Feed:
    broker.create_topic(topic, partitions=PARTITIONS)
    return Feed(broker.bootstrap_servers, topic, PARTITIONS)


@pytest.mark.parametrize(("client", "assignor"), EAGER_AND_COOPERATIVE)
def test_members_come_and_go_and_each_record_is_processed_once(
    broker: Broker, feed: Feed, topic: str, group: str, client: str, assignor: str
) -> None:
    with group_of(client, broker.bootstrap_servers, group, topic, assignor) as members:
        come_and_go(members, feed)


@pytest.mark.parametrize(("client", "assignor"), ONE_OF_EACH)
def test_killed_members_are_missed_and_their_partitions_taken_over(
    broker: Broker, feed: Feed, topic: str, group: str, client: str, assignor: str
) -> None:
    with group_of(client, broker.bootstrap_servers, group, topic, assignor) as members:
        are_killed(members, feed)


@pytest.mark.parametrize("client", ["confluent-kafka", "kafka-python"])
def test_a_static_member_comes_back_to_its_partitions_without_a_rebalance(
    broker: Broker, feed: Feed, topic: str, group: str, client: str
) -> None:
    with group_of(client, broker.bootstrap_servers, group, topic, "range") as members:
        come_back(members, feed, Member.kill)


def test_a_static_member_that_stays_away_loses_its_partitions(
    broker: Broker, feed: Feed, topic: str, group: str
) -> None:
    with group_of("confluent-kafka", broker.bootstrap_servers, group, topic, "range") as members:
        first, second = members.join(instance="one"), members.join(instance="two")
        members.wait_for_share((first, 3), (second, 3))
        second.kill()
        members.wait_for_share((first, 6))


def test_one_group_of_four_different_clients(broker: Broker, feed: Feed, topic: str, group: str) -> None:
    servers = broker.bootstrap_servers
    with (
        group_of("confluent-kafka", servers, group, topic, "range") as members,
        kcat_member(kcat_path(), servers, group, topic) as kcat,
    ):
        others = [members.join(client=client) for client in ("confluent-kafka", "kafka-python", "aiokafka")]
        members.wait(lambda: sum(len(other.assigned) for other in others) < PARTITIONS, "kcat has its share")
        admin = AdminClient({"bootstrap.servers": servers})

        def all_work() -> bool:
            described = admin.describe_consumer_groups([group])[group].result()
            shares = sorted(len(member.assignment.topic_partitions) for member in described.members)
            return described.state.name == "STABLE" and shares == [1, 1, 2, 2]

        wait_until(all_work, "four members share six partitions")
        feed.send(60)
        values = {each.value for each in feed.acknowledged}
        wait_until(lambda: members.values() | kcat.values() == values, "all records are read")
        assert members.values().isdisjoint(kcat.values())
        assert all(other.processed for other in others)
