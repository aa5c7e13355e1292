"""`barnabas txn` and kafka-transactions: open and hanging transactions, and how to end them."""

import contextlib
import json
import re
from collections.abc import Iterator
from datetime import datetime

import pytest
from cli_running import Run
from confluent_kafka import KafkaException, Producer

from barnabas.testing import Broker

pytestmark = pytest.mark.clients


@pytest.fixture
def open_transaction(barnabas_broker: Broker, barnabas_topic: str) -> Iterator[str]:
    """A transactional id with an open transaction; the topic it has written to has the same name."""
    barnabas_broker.create_topic(barnabas_topic)
    producer = Producer({"bootstrap.servers": barnabas_broker.bootstrap_servers, "transactional.id": barnabas_topic})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(barnabas_topic, b"x")
    producer.flush(20)
    yield barnabas_topic
    with contextlib.suppress(KafkaException):  # the test has aborted it
        producer.abort_transaction(20)


def test_transactions_are_listed_and_described(barnabas: Run, barnabas_broker: Broker, open_transaction: str) -> None:
    servers = ("--bootstrap-server", barnabas_broker.bootstrap_servers)
    listed = json.loads(barnabas("txn", "list", *servers, "--format", "json").good())
    (row,) = [each for each in listed if each["transactional_id"] == open_transaction]
    assert (row["state"], row["coordinator"]) == ("Ongoing", 1)
    assert open_transaction in barnabas("txn", "list", *servers, "--pattern", f"{open_transaction}.*").good()
    assert open_transaction not in barnabas("txn", "list", *servers, "--pattern", "nothing").out
    described = json.loads(barnabas("txn", "describe", open_transaction, *servers, "--format", "json").good())
    assert described["partitions"] == [f"{open_transaction}-0"]
    assert described["producer_id"] == row["producer_id"]
    assert described["start_ms"] > 0
    shown = barnabas("txn", "describe", open_transaction, *servers).good()
    assert f"partitions        {open_transaction}-0" in shown
    started = datetime.fromtimestamp(described["start_ms"] / 1000).astimezone()
    assert f"started           {started.isoformat(sep=' ', timespec='seconds')}" in shown
    assert "timeout           1 minute\n" in shown
    assert re.search(r"^open for          \d+ seconds?$", shown, re.MULTILINE)
    missing = barnabas("txn", "describe", "nobody", *servers)
    assert missing.status == 1
    assert "there is no transactional id nobody" in missing.err
    assert "barnabas txn list" in missing.err


def test_durations_choose_among_transactions(barnabas: Run, barnabas_broker: Broker, open_transaction: str) -> None:
    servers = ("--bootstrap-server", barnabas_broker.bootstrap_servers)
    assert open_transaction not in barnabas("txn", "list", "--longer-than", "1h", *servers).out
    assert open_transaction in barnabas("txn", "list", "--longer-than", "0s", *servers).out
    assert "No hanging transactions" in barnabas("txn", "find-hanging", "--older-than", "1d", *servers).err


def test_the_script_says_the_same(script: Run, open_transaction: str) -> None:
    head, *rows = script("kafka-transactions", "list").good().splitlines()
    assert head.split() == ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"]
    (row,) = [line.split() for line in rows if line.startswith(open_transaction)]
    assert (row[1], row[3]) == ("1", "Ongoing")
    head, described = (
        script("kafka-transactions", "describe", "--transactional-id", open_transaction).good().splitlines()
    )
    assert described.split()[-1] == f"{open_transaction}-0"
    producers = ("describe-producers", "--topic", open_transaction, "--partition", "0")
    head, producer = script("kafka-transactions", *producers).good().splitlines()
    assert (producer.split()[0], producer.split()[-1]) == (row[2], "0")
    # Its coordinator knows it, so it is not hanging, however old it is.
    hanging = ("find-hanging", "--topic", open_transaction, "--max-transaction-timeout", "-1")
    assert len(script("kafka-transactions", *hanging).good().splitlines()) == 1


def test_a_transaction_is_aborted_where_it_begins(script: Run, open_transaction: str) -> None:
    place = ("--topic", open_transaction, "--partition", "0")
    nothing = script("kafka-transactions", "abort", *place, "--start-offset", "7")
    assert "Could not find any open transactions starting at offset 7" in nothing.err
    script("kafka-transactions", "abort", *place, "--start-offset", "0").good()
    _, producer = script("kafka-transactions", "describe-producers", *place).good().splitlines()
    assert producer.split()[-1] == "None"
    assert "must be identified" in script("kafka-transactions", "abort", *place).err


def test_a_transaction_is_aborted_by_its_id(barnabas: Run, barnabas_broker: Broker, open_transaction: str) -> None:
    servers = ("--bootstrap-server", barnabas_broker.bootstrap_servers)
    assert "and fenced its producer" in barnabas("txn", "abort", open_transaction, *servers).err
    described = json.loads(barnabas("txn", "describe", open_transaction, *servers, "--format", "json").good())
    assert described["state"] in ("CompleteAbort", "Empty")
    assert described["start_ms"] is None
    both = barnabas("txn", "abort", *servers)
    assert "give a transactional id" in both.err


def test_nothing_hangs(barnabas: Run, barnabas_broker: Broker) -> None:
    servers = ("--bootstrap-server", barnabas_broker.bootstrap_servers)
    found = barnabas("txn", "find-hanging", *servers)
    assert (found.good(), found.err) == ("", "No hanging transactions.\n")
    nowhere = ("abort", "--topic", "nope", "--partition", "0", "--start-offset", "0")
    assert barnabas("txn", *nowhere, *servers).status == 1
