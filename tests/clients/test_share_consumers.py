"""librdkafka's share consumer, as confluent-kafka offers it, against a broker process."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from threading import Thread

import client_confluent
import pytest
from share_reader import ACCEPT, REJECT, RELEASE, commit, configure_group, share_consumer, take

from barnabas.testing import Broker

pytestmark = pytest.mark.clients

COUNT = 200


@pytest.fixture
def queue(broker: Broker, topic: str, group: str) -> str:
    """A topic with records, for a group that begins with the first."""
    broker.create_topic(topic, partitions=3)
    configure_group(broker.bootstrap_servers, group)
    fill(broker.bootstrap_servers, topic, COUNT)
    return topic


def fill(servers: str, topic: str, count: int) -> None:
    writer = client_confluent.producer(servers)
    for number in range(count):
        writer.produce(topic, b"%d" % number, key=b"%d" % number)
    assert writer.flush(30) == 0


def numbers(count: int = COUNT) -> list[bytes]:
    return sorted(b"%d" % number for number in range(count))


def test_each_record_goes_to_one_of_several_members(servers: str, queue: str, group: str) -> None:
    taken: list[list[bytes]] = [[], [], []]
    left = COUNT

    def read(own: list[bytes]) -> None:
        with share_consumer(servers, group, queue, max_poll_records=10) as consumer:
            while sum(map(len, taken)) < left:
                own += take(consumer, 1, timeout_s=1)

    threads = [Thread(target=read, args=(own,)) for own in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(value for own in taken for value in own) == numbers()


def test_implicit_acknowledgement(servers: str, queue: str, group: str) -> None:
    config = {"share_acknowledgement_mode": "implicit"}
    values: list[bytes] = []
    with share_consumer(servers, group, queue, **config) as consumer:
        while len(values) < COUNT:
            values += [message.value() for message in consumer.poll(1)]
        commit(consumer)
    assert sorted(values) == numbers()
    with share_consumer(servers, group, queue, **config) as consumer:
        fill(servers, queue, 1)
        assert [message.value() for message in consumer.poll(30)] == [b"0"]


def test_released_records_come_again_and_rejected_ones_do_not(servers: str, queue: str, group: str) -> None:
    seen: Counter[bytes] = Counter()

    def answer(message: object) -> object:
        value = message.value()  # type: ignore[attr-defined]  # librdkafka's message
        seen[value] += 1
        if value.endswith(b"3"):
            return REJECT
        return RELEASE if value.endswith(b"7") and seen[value] == 1 else ACCEPT

    with share_consumer(servers, group, queue) as consumer:
        take(consumer, COUNT + COUNT // 10, answer)
        fill(servers, queue, 1)
        assert take(consumer, 1) == [b"0"]
    assert seen == {value: 2 if value.endswith(b"7") else 1 for value in numbers()}


def test_who_leaves_gives_back(servers: str, queue: str, group: str) -> None:
    with share_consumer(servers, group, queue) as consumer:
        messages = consumer.poll(30)
        assert messages
        for message in messages:
            consumer.acknowledge(message, RELEASE)
        commit(consumer)
    with share_consumer(servers, group, queue) as consumer:
        assert sorted(take(consumer, COUNT)) == numbers()


def test_who_is_killed_gives_back_before_its_locks_time_out(
    broker: Broker, servers: str, topic: str, group: str
) -> None:
    # One partition, which is assigned to all members until their sessions end.
    broker.create_topic(topic)
    configure_group(servers, group)
    fill(servers, topic, COUNT)
    program = Path(__file__).with_name("share_reader.py")
    with subprocess.Popen(
        [sys.executable, str(program), servers, group, topic], stdout=subprocess.PIPE, text=True
    ) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline()
        killed.kill()
    with share_consumer(servers, group, topic) as consumer:
        assert sorted(take(consumer, COUNT, timeout_s=20)) == numbers()  # a lock lasts for 30 seconds


def test_aborted_records_are_not_handed_out(servers: str, broker: Broker, topic: str, group: str) -> None:
    broker.create_topic(topic)
    configure_group(servers, group, isolation_level="read_committed")
    writer = client_confluent.producer(servers, **{"transactional.id": f"writer-of-{topic}"})
    writer.init_transactions(30)
    for turn, ends in enumerate((writer.abort_transaction, writer.commit_transaction) * 3):
        writer.begin_transaction()
        for number in range(5):
            writer.produce(topic, b"%d.%d" % (turn, number))
        writer.flush(30)
        ends(30)
    with share_consumer(servers, group, topic) as consumer:
        committed = [b"%d.%d" % (turn, number) for turn in (1, 3, 5) for number in range(5)]
        assert take(consumer, len(committed)) == committed
        fill(servers, topic, 1)
        assert take(consumer, 1) == [b"0"]


@pytest.mark.crash
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restart_brings_back_what_was_not_accepted(topic: str, group: str, how: str) -> None:
    with Broker(process=True) as own_broker:
        servers = own_broker.bootstrap_servers
        own_broker.create_topic(topic)
        configure_group(servers, group)
        fill(servers, topic, COUNT)
        accepted: set[bytes] = set()

        def answer(message: object) -> object:
            value = message.value()  # type: ignore[attr-defined]  # librdkafka's message
            if value.endswith(b"5"):
                return RELEASE
            accepted.add(value)
            return ACCEPT

        with share_consumer(servers, group, topic, max_poll_records=50) as consumer:
            take(consumer, 50, answer)
            before = frozenset(accepted)
            if how == "kill":
                own_broker.kill()
            own_broker.restart()
        with share_consumer(servers, group, topic) as consumer:
            again = take(consumer, COUNT - len(before))
        assert sorted([*again, *before]) == numbers()
