"""Transactions with the blocking client: take over, write, end, list; with transaction.version 1 and 2."""

import time
import uuid
from collections.abc import Iterator

import pytest

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.client.group_offsets import fetch_offsets
from barnabas.client.offsets import LATEST
from barnabas.client.properties import client_settings
from barnabas.client.transaction import GroupPosition, Transactions
from barnabas.client.transaction_listing import open_transactions, wait_until_visible
from barnabas.client.transaction_log import OffsetsGone, read_log
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.records.control import read_marker
from barnabas.records.record import Record, build_batch
from barnabas.testing import Broker
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

TIMEOUT_MS = 60_000
NOW_MS = int(time.time() * 1000)
BATCH = build_batch([Record(0, NOW_MS, b"k", b"v"), Record(0, NOW_MS, b"k", b"w")])


@pytest.fixture(scope="module", params=[1, 2])
def version(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture(scope="module")
def broker(version: int) -> Iterator[Broker]:
    with Broker() as running:
        if version != 2:
            update = FeatureUpdateKey(feature="transaction.version", max_version_level=version, upgrade_type=2)
            with running.connect() as client:
                answer = client.call("update_features", 2, UpdateFeaturesRequest(feature_updates=(update,)))
            assert answer.error_code == ErrorCode.none
        yield running


@pytest.fixture
def cluster(broker: Broker) -> Iterator[Cluster]:
    properties = {"bootstrap.servers": broker.bootstrap_servers, "retry.backoff.ms": "5"}
    with Cluster(client_settings(properties)) as connected:
        yield connected


@pytest.fixture
def topic(broker: Broker) -> str:
    name = f"t-{uuid.uuid4().hex[:8]}"
    broker.create_topic(name)
    return name


def writer_of(cluster: Cluster, name: str) -> TransactionWriter:
    transactions = Transactions(cluster)
    return TransactionWriter(cluster, transactions, transactions.take_over(name, timeout_ms=TIMEOUT_MS))


def markers(cluster: Cluster, topic: str) -> list[bool]:
    found = [read_marker(batch) for batch in read_log(cluster, topic, 0, start=0) if batch.header.is_control]
    return [marker.commit for marker in found if marker is not None]


def test_the_cluster_says_which_way_it_has(cluster: Cluster, version: int) -> None:
    transactions = Transactions(cluster)
    assert transactions.version == version
    assert transactions.newest("end_txn") == (4 if version == 1 else None)


def test_transactions_one_after_the_other(cluster: Cluster, topic: str, version: int) -> None:
    writer = writer_of(cluster, topic)
    first = writer.producer
    assert writer.append(topic, 0, BATCH) == 0
    assert writer.append(topic, 0, BATCH) == 2
    assert open_transactions(cluster, topic) == {topic: first.producer_id}
    writer.commit()
    assert (writer.producer == first) == (version == 1), "from version 2 on every end brings the next epoch"
    assert writer.append(topic, 0, BATCH) == 5
    writer.commit()
    assert writer_of(cluster, topic).producer.epoch > first.epoch, "what was open is over when it is taken over"
    assert markers(cluster, topic) == [True, True]
    assert open_transactions(cluster, topic) == {}


def test_a_group_and_records_change_together(cluster: Cluster, topic: str) -> None:
    writer = writer_of(cluster, topic)
    writer.append(topic, 0, BATCH)
    writer.commit_position(GroupPosition(topic, topic, 0, 7, "a note"))
    assert fetch_offsets(cluster, topic, [(topic, 0)]) == {}, "not committed"
    writer.commit()
    committed = fetch_offsets(cluster, topic, [(topic, 0)], require_stable=True)[topic, 0]
    assert (committed.offset, committed.metadata) == (7, "a note")


def test_who_was_taken_over_is_fenced(cluster: Cluster, topic: str) -> None:
    old = writer_of(cluster, topic)
    old.append(topic, 0, BATCH)
    new = writer_of(cluster, topic)
    with pytest.raises(Refused):
        old.append(topic, 0, BATCH)
    with pytest.raises(Refused):
        old.commit()
    new.append(topic, 0, BATCH)
    new.commit()
    assert markers(cluster, topic) == [False, True]


def test_abandon_aborts_and_does_not_wait(cluster: Cluster, topic: str) -> None:
    writer_of(cluster, topic).append(topic, 0, BATCH)
    transactions = Transactions(cluster)
    transactions.abandon(topic, timeout_ms=TIMEOUT_MS)
    transactions.abandon(topic, timeout_ms=TIMEOUT_MS)
    retry = cluster.retry_policy()
    while markers(cluster, topic) != [False]:
        assert retry.wait()


def test_many_are_committed_at_once_and_each_says_how_it_went(cluster: Cluster, topic: str) -> None:
    writers = [writer_of(cluster, f"{topic}-{index}") for index in range(120)]
    for writer in writers:
        writer.append(topic, 0, BATCH)
    transactions = Transactions(cluster)
    transactions.abandon(f"{topic}-3", timeout_ms=TIMEOUT_MS)
    producers = [writer.producer for writer in writers]
    for _ in range(2):  # it may be repeated
        codes = transactions.commit_all(producers)
        assert codes[:3] + codes[4:] == [ErrorCode.none] * 119
        assert codes[3] in (
            ErrorCode.producer_fenced,
            ErrorCode.invalid_producer_epoch,
            ErrorCode.invalid_txn_state,
        )
    assert transactions.commit_all([]) == []


def test_a_timeout_that_the_broker_does_not_allow(cluster: Cluster, topic: str) -> None:
    with pytest.raises(Refused, match=r"transaction\.max\.timeout\.ms"):
        Transactions(cluster).take_over(topic, timeout_ms=900_001)


def test_offsets_that_the_log_does_not_have(cluster: Cluster, topic: str) -> None:
    with pytest.raises(OffsetsGone) as gone:
        list(read_log(cluster, topic, 0, start=10))
    assert (gone.value.start, gone.value.end) == (0, 0)


def test_waiting_until_readers_see_it(cluster: Cluster, topic: str) -> None:
    writers = [writer_of(cluster, f"{topic}-{index}") for index in range(5)]
    for writer in writers:
        writer.append(topic, 0, BATCH)
    transactions = Transactions(cluster)
    transactions.commit_all([writer.producer for writer in writers])
    ids = [f"{topic}-{index}" for index in range(5)]
    assert wait_until_visible(cluster, [*ids, "never heard of"], limit_s=10)
    ends = [cluster.offsets([(topic, 0)], LATEST, isolation_level=level)[topic, 0].offset for level in (0, 1)]
    assert ends[0] == ends[1] == 15
