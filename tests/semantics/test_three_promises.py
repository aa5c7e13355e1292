"""At most once, at least once, exactly once: the effect of a crash in the middle of an order on each.

The difference is when the position is committed: before the work, after it, or together with it.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from barnabas.testing import Broker

SHOP = Path(__file__).with_name("shop.py")
ORDERS = ["apples", "bread", "cheese"]

pytestmark = pytest.mark.clients


def place_orders(broker: Broker, topic: str) -> None:
    broker.create_topic(topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for order in ORDERS:
        producer.produce(topic, order)
    assert producer.flush(20) == 0


def open_the_shop(broker: Broker, topic: str, book: Path | str, habit: str, fatal_order: str = "") -> int:
    """Returns its exit status, once it has packed everything or crashed."""
    command = [sys.executable, str(SHOP), broker.bootstrap_servers, topic, str(book), habit, fatal_order]
    return subprocess.run(command, timeout=90, check=False).returncode


def test_at_most_once_loses(barnabas_broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    """Commit, then work. The shop dies after it has committed the bread and before it has packed it."""
    place_orders(barnabas_broker, barnabas_topic)
    book = tmp_path / "book"
    assert open_the_shop(barnabas_broker, barnabas_topic, book, "before", fatal_order="bread") == -9
    assert open_the_shop(barnabas_broker, barnabas_topic, book, "before") == 0

    # The committed offset is after the bread: it will never be packed.
    assert book.read_text().splitlines() == ["packed apples", "packed cheese"]


def test_at_least_once_doubles(barnabas_broker: Broker, barnabas_topic: str, tmp_path: Path) -> None:
    """Work, then commit. The shop dies after it has packed the bread and before it has committed that."""
    place_orders(barnabas_broker, barnabas_topic)
    book = tmp_path / "book"
    assert open_the_shop(barnabas_broker, barnabas_topic, book, "after", fatal_order="bread") == -9
    assert open_the_shop(barnabas_broker, barnabas_topic, book, "after") == 0

    # The committed offset is before the bread: it is packed again.
    assert book.read_text().splitlines() == ["packed apples", "packed bread", "packed bread", "packed cheese"]


def test_exactly_once_does_neither(barnabas_broker: Broker, barnabas_topic: str) -> None:
    """Work and commit in one transaction. The shop dies when the invoice for the bread is in the log already.

    Its successor has the same transactional id: the broker aborts what the dead one left open, and the group still
    stands before the bread. The bread is done again, and a read_committed consumer sees one invoice for it.
    """
    place_orders(barnabas_broker, barnabas_topic)
    invoices = f"{barnabas_topic}-invoices"
    barnabas_broker.create_topic(invoices)
    assert open_the_shop(barnabas_broker, barnabas_topic, invoices, "with", fatal_order="bread") == -9
    assert open_the_shop(barnabas_broker, barnabas_topic, invoices, "with") == 0

    expected = ["invoice for apples", "invoice for bread", "invoice for cheese"]
    assert read_all(barnabas_broker, invoices, "read_committed") == expected
    # A read_uncommitted consumer sees the invoice of the crashed shop too.
    assert sorted(read_all(barnabas_broker, invoices, "read_uncommitted")) == sorted([*expected, expected[1]])


def read_all(broker: Broker, topic: str, isolation: str) -> list[str]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "auditors",
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values = []
    try:
        while (message := consumer.poll(20)) is not None:
            if message.error() is not None:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                return values
            values.append(message.value().decode())
    finally:
        consumer.close()
    raise AssertionError(f"{topic} did not come to its end: {values}")
