"""The ranges of a batch read, against a real broker: every way to say where it starts and ends."""

import json
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, LessThan
from source_world import delete_records, now_ms, numbered, write

from barnabas.spark.errors import UserError
from barnabas.spark.options.source import batch_options
from barnabas.spark.query.data_loss import DataLost
from barnabas.spark.source.batch import tasks
from barnabas.spark.source.predicate import Predicate
from barnabas.spark.source.read import read_ranges
from barnabas.testing import Broker

Found = dict[tuple[str, int], tuple[int, int]]
Ask = Callable[..., Found]


@pytest.fixture
def ask(broker: Broker, barnabas_topic: str) -> Ask:
    """The range of each partition, for these options."""

    def ranges(predicate: Predicate | None = None, **options: str) -> Found:
        base = {"kafka.bootstrap.servers": broker.bootstrap_servers, "fetchOffset.retryIntervalMs": "0"}
        if not options.keys() & {"subscribe", "subscribePattern", "assign"}:
            base["subscribe"] = barnabas_topic
        named = {name.replace("__", "."): value for name, value in options.items()}
        found = [one for task in tasks(batch_options(base | named), predicate) for one in task]
        return {(one.topic, one.partition): (one.start, one.end) for one in found}

    return ranges


@pytest.fixture
def topic(broker: Broker, barnabas_topic: str) -> str:
    """Ten records in partition 0 (one a second, the last a second ago), four in 1, none in 2."""
    broker.create_topic(barnabas_topic, partitions=3)
    first_ms = now_ms() - 10_000
    for number in range(10):
        write(broker.bootstrap_servers, barnabas_topic, numbered(number, 1), timestamp=first_ms + number * 1000)
    write(broker.bootstrap_servers, barnabas_topic, numbered(0, 4), partition=1, timestamp=first_ms + 5000)
    return barnabas_topic


def offsets_json(topic: str, *offsets: int) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in enumerate(offsets)}})


def test_everything(ask: Ask, topic: str) -> None:
    everything = {(topic, 0): (0, 10), (topic, 1): (0, 4)}
    assert ask() == everything
    assert ask(startingOffsets="earliest", endingOffsets="latest") == everything
    assert ask(subscribePattern=f"^{topic[:-1]}.$") == everything
    assert ask(assign=json.dumps({topic: [1, 2]})) == {(topic, 1): (0, 4)}


def test_offsets(ask: Ask, topic: str) -> None:
    found = ask(startingOffsets=offsets_json(topic, 3, -2, 0), endingOffsets=offsets_json(topic, 7, -1, -1))
    assert found == {(topic, 0): (3, 7), (topic, 1): (0, 4)}


def test_times(ask: Ask, topic: str, broker: Broker) -> None:
    with_times = read_ranges(
        tasks(batch_options({"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic}))[0],
        batch_options({"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic}),
        ("partition", "timestamp"),
    )
    rows = [row for batch in with_times for row in batch.to_pylist()]
    first_ms = int(min(row["timestamp"] for row in rows).timestamp() * 1000)
    third, late = str(first_ms + 3000), str(first_ms + 5001)
    # Partition 2 has no record at all, so no time matches there.
    latest = {"startingOffsetsByTimestampStrategy": "latest"}
    assert ask(startingTimestamp=third, **latest) == {(topic, 0): (3, 10), (topic, 1): (0, 4)}
    assert ask(startingTimestamp=late, **latest) == {(topic, 0): (6, 10)}
    assert ask(endingTimestamp=third) == {(topic, 0): (0, 3)}
    assert ask(endingTimestamp=late) == {(topic, 0): (0, 6), (topic, 1): (0, 4)}
    each = json.dumps({topic: {"0": first_ms + 1000, "1": first_ms, "2": 0}})
    assert ask(startingOffsetsByTimestamp=each, endingTimestamp=late, **latest) == {
        (topic, 0): (1, 6),
        (topic, 1): (0, 4),
    }
    with pytest.raises(
        UserError, match=f"No record in {topic}-1, {topic}-2 has a timestamp at or after startingTimestamp"
    ) as refusal:
        ask(startingTimestamp=late)
    assert "startingOffsetsByTimestampStrategy" in refusal.value.hint
    with pytest.raises(UserError, match=f"start at offset 6 of {topic}-0 and end before it, at 3"):
        ask(startingTimestamp=late, endingTimestamp=third, **latest)


def test_filters_narrow_the_ranges(ask: Ask, topic: str) -> None:
    predicate = Predicate()
    assert predicate.take(EqualTo(("partition",), 0))
    assert predicate.take(GreaterThanOrEqual(("offset",), 2))
    assert predicate.take(LessThan(("offset",), 9))
    assert ask(predicate) == {(topic, 0): (2, 9)}
    nothing = Predicate()
    nothing.take(EqualTo(("topic",), "another"))
    assert ask(nothing) == {}


def test_partitions_that_are_not_read_may_not_be_named(ask: Ask, topic: str) -> None:
    with pytest.raises(UserError, match=rf"names {topic}-3, which the read does not include"):
        ask(startingOffsets=offsets_json(topic, 0, 0, 0, 0))
    with pytest.raises(UserError, match=rf"does not name {topic}-2"):
        ask(startingOffsets=offsets_json(topic, 0, 0))
    with pytest.raises(UserError, match=rf"endingOffsetsByTimestamp does not name {topic}-0"):
        ask(endingOffsetsByTimestamp=json.dumps({topic: {"1": 5, "2": 5}}))


def test_a_topic_that_is_not_there_is_named_with_one_that_is(ask: Ask, topic: str) -> None:
    with pytest.raises(UserError, match=f"There is no topic {topic}s on 127") as refusal:
        ask(subscribe=f"{topic}s")
    assert refusal.value.hint == f"did you mean {topic}?"
    with pytest.raises(UserError, match="barnabas topic create quite-another"):
        ask(assign='{"quite-another": [0]}')
    assert ask(subscribePattern="^quite-another$") == {}


def test_partitions_that_are_not_there_are_left_out_and_said(
    ask: Ask, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert ask(assign=json.dumps({topic: [1, 9]})) == {(topic, 1): (0, 4)}
    assert f"The option assign names {topic}-9, which do not exist" in caplog.text


def test_internal_topics_match_no_pattern(ask: Ask, topic: str, broker: Broker) -> None:
    assert all(not name.startswith("__") for name, _ in ask(subscribePattern=".*"))


def test_deleted_records_are_a_loss_only_where_they_were_asked_for(
    ask: Ask, topic: str, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    delete_records(broker.bootstrap_servers, topic, 0, 4)
    assert ask()[topic, 0] == (4, 10)
    asked = {"startingOffsets": offsets_json(topic, 2, 0, 0), "endingOffsets": offsets_json(topic, 8, 4, 0)}
    with pytest.raises(DataLost, match="Up to 2 records were gone"):
        ask(**asked)
    assert ask(**asked, failOnDataLoss="false")[topic, 0] == (4, 8)
    assert "Up to 2 records were gone" in caplog.text


def test_an_end_behind_the_log_is_reported(ask: Ask, topic: str) -> None:
    asked = {"endingOffsets": offsets_json(topic, 15, 4, 0)}
    with pytest.raises(DataLost, match="the log ends before the requested offset"):
        ask(**asked)
    assert ask(**asked, failOnDataLoss="false")[topic, 0] == (0, 10)
    beyond = {"startingOffsets": offsets_json(topic, 15, 4, 0)}
    with pytest.raises(DataLost):
        ask(**beyond)
    assert ask(**beyond, failOnDataLoss="false") == {}


def test_committed_records_end_where_a_transaction_is_open(ask: Ask, topic: str, broker: Broker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"undecided", partition=1)
    producer.flush()
    assert ask(kafka__isolation__level="read_uncommitted")[topic, 1] == (0, 5)
    assert ask(kafka__isolation__level="read_committed")[topic, 1] == (0, 4)
    producer.commit_transaction()
    assert ask(kafka__isolation__level="read_committed")[topic, 1] == (0, 6)  # with the marker
    del producer


def test_nobody_there_is_said_in_a_sentence() -> None:
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t", "kafka.default.api.timeout.ms": "1"}
    with pytest.raises(UserError, match=r"127\.0\.0\.1") as refusal:
        tasks(batch_options(options))
    assert refusal.value.hint
