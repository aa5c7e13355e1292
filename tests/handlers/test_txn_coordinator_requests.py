"""Requests to the transaction coordinator in every version: the answers, and the error codes for old clients."""

import datetime
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from barnabas.records.batch import split_batches
from barnabas.records.record import decode_records
from barnabas.testing import Broker
from barnabas.testing.client import Client
from barnabas.wire.api_table import APIS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

MINUTE = datetime.timedelta(minutes=1)


def versions(name: str) -> list[int]:
    [api] = [each for each in APIS if each.name == name]
    return list(range(api.version_min, api.version_max + 1))


class Identity(NamedTuple):
    id: str
    producer_id: int
    epoch: int


class TxnRequests:
    """Requests of a producer, and the names of the errors that come back."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def init(self, id: str | None, version: int = 5, timeout: datetime.timedelta = MINUTE, **more: int) -> Any:
        request = InitProducerIdRequest(transactional_id=id, transaction_timeout=timeout, **more)
        if id is not None:
            self.client.call("find_coordinator", 3, FindCoordinatorRequest(key=id, key_type=1))
        return self.client.call("init_producer_id", version, request)

    def started(self, id: str | None = None) -> Identity:
        id = id or f"id-{uuid.uuid4().hex[:12]}"
        answer = self.init(id)
        assert answer.error_code.name == "none"
        return Identity(id, answer.producer_id, answer.producer_epoch)

    def add(self, who: Identity, version: int, topics: dict[str, tuple[int, ...]], *, verify: bool = False) -> Any:
        places = tuple(AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in topics.items())
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=who.id,
            producer_id=who.producer_id,
            producer_epoch=who.epoch,
            verify_only=verify,
            topics=places,
        )
        request = AddPartitionsToTxnRequest(
            transactions=(transaction,),
            v3_and_below_transactional_id=who.id,
            v3_and_below_producer_id=who.producer_id,
            v3_and_below_producer_epoch=who.epoch,
            v3_and_below_topics=places,
        )
        answer = self.client.call("add_partitions_to_txn", version, request)
        if version >= 4:
            [result] = answer.results_by_transaction
            assert (result.transactional_id, answer.error_code.name) == (who.id, "none")
            found = result.topic_results
        else:
            found = answer.results_by_topic_v3_and_below
        return {
            (topic.name, each.partition_index): each.partition_error_code.name
            for topic in found
            for each in topic.results_by_partition
        }

    def add_offsets(self, who: Identity, version: int, group: str = "g") -> str:
        request = AddOffsetsToTxnRequest(
            transactional_id=who.id, producer_id=who.producer_id, producer_epoch=who.epoch, group_id=group
        )
        return str(self.client.call("add_offsets_to_txn", version, request).error_code.name)

    def end(self, who: Identity, version: int, *, commit: bool = True) -> Any:
        request = EndTxnRequest(
            transactional_id=who.id, producer_id=who.producer_id, producer_epoch=who.epoch, committed=commit
        )
        return self.client.call("end_txn", version, request)

    def commit_offsets(
        self, who: Identity, version: int, topics: dict[str, dict[int, int]], group: str = "g", generation: int = -1
    ) -> dict[tuple[str, int], str]:
        request = TxnOffsetCommitRequest(
            transactional_id=who.id,
            group_id=group,
            producer_id=who.producer_id,
            producer_epoch=who.epoch,
            generation_id=generation,
            topics=tuple(
                TxnOffsetCommitRequestTopic(
                    name=name,
                    partitions=tuple(
                        TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
                        for index, offset in offsets.items()
                    ),
                )
                for name, offsets in topics.items()
            ),
        )
        answer = self.client.call("txn_offset_commit", version, request)
        return {
            (topic.name, each.partition_index): each.error_code.name
            for topic in answer.topics
            for each in topic.partitions
        }

    def offset(self, topic: str, group: str = "g", *, stable: bool = False) -> int | str:
        wanted = OffsetFetchRequestTopics(name=topic, partition_indexes=(0,))
        request = OffsetFetchRequest(
            groups=(OffsetFetchRequestGroup(group_id=group, topics=(wanted,)),), require_stable=stable
        )
        [answer] = self.client.call("offset_fetch", 9, request).groups
        if answer.error_code:
            return str(answer.error_code.name)
        [found] = answer.topics[0].partitions
        return str(found.error_code.name) if found.error_code else int(found.committed_offset)


def find_coordinators(client: Client) -> None:
    """The first time this creates the internal topics."""
    client.call("find_coordinator", 3, FindCoordinatorRequest(key="g", key_type=0))
    client.call("find_coordinator", 3, FindCoordinatorRequest(key="x", key_type=1))


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("t", partitions=2)
        with broker.connect() as client:
            find_coordinators(client)
        yield broker


@pytest.fixture
def ask(broker: Broker) -> Iterator[TxnRequests]:
    with broker.connect() as client:
        yield TxnRequests(client)


@pytest.mark.parametrize("version", versions("init_producer_id"))
def test_init_producer_id(ask: TxnRequests, version: int) -> None:
    id = f"init-{version}"
    first, second = (ask.init(id, version) for _ in range(2))
    assert (first.error_code.name, first.producer_epoch) == ("none", 0)
    assert (second.producer_id, second.producer_epoch) == (first.producer_id, 1)
    refused = ask.init(id, version, datetime.timedelta(days=1))
    assert (refused.error_code.name, refused.producer_id) == ("invalid_transaction_timeout", -1)
    assert ask.init("", version).error_code.name == "invalid_request"
    assert ask.init(None, version).producer_epoch == 0
    if version >= 3:
        third = ask.init(id, version, producer_id=second.producer_id, producer_epoch=1)
        assert third.producer_epoch == 2
        fenced = ask.init(id, version, producer_id=second.producer_id, producer_epoch=0)
        assert fenced.error_code.name == ("producer_fenced" if version >= 4 else "invalid_producer_epoch")
        half = ask.init(id, version, producer_id=second.producer_id)
        assert half.error_code.name == "invalid_request"


@pytest.mark.parametrize("version", versions("add_partitions_to_txn"))
def test_add_partitions_to_txn(ask: TxnRequests, version: int) -> None:
    who = ask.started()
    assert ask.add(who, version, {"t": (0, 1)}) == {("t", 0): "none", ("t", 1): "none"}
    assert ask.add(who, version, {"t": (0, 9), "u": (0,)}) == {
        ("t", 0): "operation_not_attempted",
        ("t", 9): "unknown_topic_or_partition",
        ("u", 0): "unknown_topic_or_partition",
    }
    fenced = ask.add(who._replace(epoch=7), version, {"t": (0,)})
    assert fenced == {("t", 0): "producer_fenced" if version >= 2 else "invalid_producer_epoch"}
    stranger = ask.add(who._replace(producer_id=who.producer_id + 1), version, {"t": (0,)})
    assert stranger == {("t", 0): "invalid_producer_id_mapping"}
    nameless = ask.add(who._replace(id=""), version, {"t": (0,)})
    assert nameless == {("t", 0): "invalid_request"}
    if version < 4:
        internal = ask.add(who, version, {"__transaction_state": (0,)})
        assert internal == {("__transaction_state", 0): "topic_authorization_failed"}
    else:
        other = ask.started()
        ask.add(other, version, {"t": (1,)})
        verified = ask.add(other, version, {"t": (0, 1)}, verify=True)
        assert verified == {("t", 0): "transaction_abortable", ("t", 1): "none"}


@pytest.mark.parametrize("version", versions("end_txn"))
@pytest.mark.parametrize("commit", [True, False])
def test_end_txn(ask: TxnRequests, version: int, commit: bool) -> None:
    who = ask.started()
    ask.add(who, 5 if version >= 5 else 3, {"t": (0,)})
    ended = ask.end(who, version, commit=commit)
    assert ended.error_code.name == "none"
    assert (ended.producer_id, ended.producer_epoch) == ((who.producer_id, 1) if version >= 5 else (-1, -1))
    again = ask.end(who, version, commit=commit)
    assert again.error_code.name == "none"
    assert ask.end(who, version, commit=not commit).error_code.name == "invalid_txn_state"
    fenced = ask.end(who._replace(epoch=9), version)
    assert fenced.error_code.name == ("producer_fenced" if version >= 2 else "invalid_producer_epoch")
    assert ask.end(who._replace(id="nobody"), version).error_code.name == "invalid_producer_id_mapping"
    assert ask.end(who._replace(id=""), version).error_code.name == "invalid_request"


@pytest.mark.parametrize("version", versions("add_offsets_to_txn"))
def test_add_offsets_to_txn(ask: TxnRequests, version: int) -> None:
    who = ask.started()
    assert ask.add_offsets(who, version) == "none"
    described = ask.client.call("describe_transactions", 0, DescribeTransactionsRequest(transactional_ids=(who.id,)))
    [topic] = described.transaction_states[0].topics
    assert (topic.topic, len(topic.partitions)) == ("__consumer_offsets", 1)
    fenced = ask.add_offsets(who._replace(epoch=7), version)
    assert fenced == ("producer_fenced" if version >= 2 else "invalid_producer_epoch")


@pytest.mark.parametrize("version", versions("txn_offset_commit"))
@pytest.mark.parametrize("commit", [True, False])
def test_txn_offset_commit(ask: TxnRequests, version: int, commit: bool) -> None:
    group = f"group-{version}-{commit}"
    who = ask.started()
    if version < 5:
        refused = ask.commit_offsets(who, version, {"t": {0: 5}}, group)
        assert refused == {("t", 0): "transaction_abortable" if version >= 4 else "invalid_txn_state"}
        assert ask.add_offsets(who, 3, group) == "none"
    assert ask.commit_offsets(who, version, {"t": {0: 5, 9: 5}, "u": {0: 1}}, group) == {
        ("t", 0): "none",
        ("t", 9): "unknown_topic_or_partition",
        ("u", 0): "unknown_topic_or_partition",
    }
    assert ask.offset("t", group) == -1
    assert ask.offset("t", group, stable=True) == "unstable_offset_commit"
    assert ask.end(who, 5 if version >= 5 else 3, commit=commit).error_code.name == "none"
    assert ask.offset("t", group, stable=True) == (5 if commit else -1)


@pytest.mark.parametrize("version", versions("txn_offset_commit"))
def test_zombies_and_strangers_commit_no_offsets(ask: TxnRequests, version: int) -> None:
    group = f"zombies-{version}"
    who = ask.started()
    if version < 5:
        ask.add_offsets(who, 3, group)
    successor = ask.started(who.id)
    assert successor.epoch > who.epoch
    assert ask.commit_offsets(who, version, {"t": {0: 5}}, group) == {("t", 0): "invalid_producer_epoch"}
    assert ask.commit_offsets(who, version, {"t": {0: 5}}, "") == {("t", 0): "invalid_group_id"}
    if version >= 3:
        if version < 5:
            ask.add_offsets(successor, 3, group)
        late = ask.commit_offsets(successor, version, {"t": {0: 5}}, group, generation=4)
        assert late == {("t", 0): "illegal_generation"}


@pytest.mark.parametrize("version", versions("list_transactions"))
def test_list_and_describe(ask: TxnRequests, version: int) -> None:
    who = ask.started(f"listed-{version}")
    ask.add(who, 3, {"t": (0, 1)})

    def listed(**filters: Any) -> dict[str, str]:
        answer = ask.client.call("list_transactions", version, ListTransactionsRequest(**filters))
        assert answer.error_code.name == "none"
        return {each.transactional_id: each.transaction_state for each in answer.transaction_states}

    assert listed()[who.id] == "Ongoing"
    assert who.id not in listed(state_filters=("Empty", "CompleteCommit"))
    assert listed(producer_id_filters=(who.producer_id,)) == {who.id: "Ongoing"}
    if version >= 1:
        assert who.id not in listed(duration_filter=3_600_000)
    if version >= 2:
        assert listed(transactional_id_pattern="listed-2|none") == {who.id: "Ongoing"}
        wrong = ask.client.call("list_transactions", 2, ListTransactionsRequest(transactional_id_pattern="("))
        assert wrong.error_code.name == "invalid_regular_expression"
    described = ask.client.call(
        "describe_transactions", 0, DescribeTransactionsRequest(transactional_ids=(who.id, "missing", ""))
    )
    one, missing, nameless = described.transaction_states
    assert (one.producer_id, one.transaction_timeout, one.transaction_state) == (who.producer_id, MINUTE, "Ongoing")
    assert [(topic.topic, topic.partitions) for topic in one.topics] == [("t", (0, 1))]
    assert (missing.error_code.name, nameless.error_code.name) == ("transactional_id_not_found", "invalid_request")


def test_what_is_pending_survives_a_kill(tmp_path: Path) -> None:
    with Broker(process=True, data_dir=tmp_path / "data") as broker:
        broker.create_topic("t")
        with broker.connect() as client:
            ask = TxnRequests(client)
            find_coordinators(client)
            open_one, decided = ask.started("open"), ask.started("decided")
            assert ask.commit_offsets(open_one, 5, {"t": {0: 5}}, "one") == {("t", 0): "none"}
            assert ask.commit_offsets(decided, 5, {"t": {0: 7}}, "two") == {("t", 0): "none"}
            assert ask.end(decided, 5).error_code.name == "none"
        broker.kill()
        broker.restart()
        with broker.connect() as client:
            ask = TxnRequests(client)
            ended = ask.end(decided, 5)
            assert (ended.error_code, ended.producer_epoch) == (ErrorCode.none, decided.epoch + 1)
            assert ask.offset("t", "two", stable=True) == 7
            assert ask.offset("t", "one", stable=True) == "unstable_offset_commit"
            assert ask.end(open_one, 5).error_code == ErrorCode.none
            assert ask.offset("t", "one", stable=True) == 5


@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_level_of_the_feature_says_how_it_is_stored_and_how_a_zombie_is_fenced(tmp_path: Path, level: int) -> None:
    with Broker(data_dir=tmp_path / "data") as broker:
        broker.create_topic("t")
        with broker.connect() as client:
            ask = TxnRequests(client)
            find_coordinators(client)
            if level != 2:
                update = FeatureUpdateKey(feature="transaction.version", max_version_level=level, upgrade_type=2)
                answer = client.call("update_features", 2, UpdateFeaturesRequest(feature_updates=(update,)))
                assert answer.error_code == ErrorCode.none
            zombie = ask.started("x")
            assert ask.add(zombie, 3, {"t": (0,)}) == {("t", 0): "none"}
            successor = ask.started("x")
            assert successor == (zombie.id, zombie.producer_id, 2), "one epoch for the abort, one for the successor"
            assert ask.add(zombie, 3, {"t": (0,)}) == {("t", 0): "producer_fenced"}
            assert ask.end(zombie, 3).error_code.name == "producer_fenced"
            assert ask.add(successor, 3, {"t": (0,)}) == {("t", 0): "none"}
            assert ask.end(successor, 3).error_code.name == "none"
        broker.stop()
    values = [
        record.value
        for path in (tmp_path / "data").glob("__transaction_state-*/*.log")
        for batch in split_batches(path.read_bytes())
        for record in decode_records(batch, max_bytes=1 << 20)
    ]
    assert {(value or b"")[:2] for value in values} == {b"\0\0" if level == 0 else b"\0\1"}
    assert len(values) == 8
