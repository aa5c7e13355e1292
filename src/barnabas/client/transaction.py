"""The requests of a transactional producer: take over an id, add partitions, commit offsets, end.

Up to transaction.version 1 a client adds partitions and groups to a transaction before it writes, and its epoch
changes only when another producer takes the id over. From version 2 on (KIP-890) the broker adds them when it is
written to, and every end of a transaction brings the next epoch. The cluster's feature level (`version`) decides which
of the two is used, so the newest version of a request is not always the right one (`NEWEST_BEFORE_2`).

All these requests are retried when a connection breaks, when the coordinator moves, and while the previous transaction
is being completed. Every other error is raised as `Refused`.
"""

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from barnabas.client.cluster import TRANSACTION, Cluster
from barnabas.client.errors import CannotConnect, ConnectionClosed, Refused, RequestTimedOut
from barnabas.client.producer_identity import ProducerIdentity
from barnabas.client.retrying import COORDINATOR_BUSY
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

EPOCH_BUMP_SINCE: Final = 2
"""From this transaction.version on, every end of a transaction brings the next epoch."""
NEWEST_BEFORE_2: Final[Mapping[str, int]] = {"produce": 11, "end_txn": 4, "txn_offset_commit": 4}
"""Later versions of these are for transaction.version 2."""

_FEATURE: Final = "transaction.version"
# From version 4 on AddPartitionsToTxn is for brokers.
_ADD_PARTITIONS_NEWEST: Final = 3
_UNREACHABLE: Final = (CannotConnect, ConnectionClosed, RequestTimedOut)
_WAIT: Final = COORDINATOR_BUSY | {ErrorCode.concurrent_transactions}
_PIPELINED_MAX: Final = 100
"""Requests in flight on one connection."""


class GroupPosition(NamedTuple):
    """A group's committed offset in a partition, with metadata."""

    group: str
    topic: str
    partition: int
    offset: int
    metadata: str


class Transactions:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._version: int | None = None
        self._coordinators: dict[str, int] = {}

    @property
    def version(self) -> int:
        """The cluster's transaction.version; 0 if it has none."""
        if self._version is None:
            features = self._cluster.api_versions().finalized_features
            levels = [each.max_version_level for each in features if each.name == _FEATURE]
            self._version = levels[0] if levels else 0
        return self._version

    @property
    def bumps_epochs(self) -> bool:
        return self.version >= EPOCH_BUMP_SINCE

    def newest(self, api_name: str) -> int | None:
        """The newest version of a request for the cluster's transaction.version; None: any."""
        return None if self.bumps_epochs else NEWEST_BEFORE_2.get(api_name)

    def take_over(self, transactional_id: str, *, timeout_ms: int) -> ProducerIdentity:
        """InitProducerId: fences the previous producer of this id, and waits until its transaction has ended."""
        request = _init_request(transactional_id, timeout_ms)
        answer = self._ask(transactional_id, "init_producer_id", request, _top_code)
        if answer.error_code == ErrorCode.invalid_transaction_timeout:
            raise Refused(
                answer.error_code,
                f"the broker allows no transactions of {timeout_ms} ms",
                "raise transaction.max.timeout.ms on the brokers, or set kafka.transaction.timeout.ms to less",
            )
        _check(answer.error_code, f"{transactional_id} cannot be taken over")
        return ProducerIdentity(answer.producer_id, answer.producer_epoch, transactional_id)

    def abandon(self, transactional_id: str, *, timeout_ms: int) -> None:
        """Abort the open transaction of this id, without waiting for the end of the abort."""
        request = _init_request(transactional_id, timeout_ms)
        answer = self._ask(transactional_id, "init_producer_id", request, _top_code, wait_for=COORDINATOR_BUSY)
        if answer.error_code != ErrorCode.concurrent_transactions:
            _check(answer.error_code, f"the transaction of {transactional_id} cannot be aborted")

    def add_partitions(self, producer: ProducerIdentity, partitions: Iterable[tuple[str, int]]) -> None:
        """Before anything is written to them. Does nothing from transaction.version 2 on."""
        if self.bumps_epochs:
            return
        transactional_id = _id_of(producer)
        by_topic: dict[str, list[int]] = {}
        for topic, partition in partitions:
            by_topic.setdefault(topic, []).append(partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=tuple(
                AddPartitionsToTxnTopic(name=topic, partitions=tuple(indexes)) for topic, indexes in by_topic.items()
            ),
        )
        answer = self._ask(
            transactional_id, "add_partitions_to_txn", request, _add_partitions_code, newest=_ADD_PARTITIONS_NEWEST
        )
        _check(_add_partitions_code(answer), f"partitions cannot be added to the transaction of {transactional_id}")

    def commit_position(self, producer: ProducerIdentity, position: GroupPosition) -> None:
        """Commit a group's offset as part of the transaction."""
        transactional_id = _id_of(producer)
        what = f"the group {position.group} cannot be written in the transaction of {transactional_id}"
        if not self.bumps_epochs:
            adding = AddOffsetsToTxnRequest(
                transactional_id=transactional_id,
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                group_id=position.group,
            )
            _check(self._ask(transactional_id, "add_offsets_to_txn", adding, _top_code).error_code, what)
        partition = TxnOffsetCommitRequestPartition(
            partition_index=position.partition,
            committed_offset=position.offset,
            committed_metadata=position.metadata,
        )
        request = TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=position.group,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            topics=(TxnOffsetCommitRequestTopic(name=position.topic, partitions=(partition,)),),
        )
        newest = self.newest("txn_offset_commit")
        retry = self._cluster.retry_policy()
        while True:
            node = self._cluster.coordinator(position.group).node_id
            try:
                answer = self._call(node, "txn_offset_commit", request, newest)
            except _UNREACHABLE:
                self._cluster.drop_broken(node)
                if not retry.wait():
                    raise
                continue
            code = answer.topics[0].partitions[0].error_code
            if code not in _WAIT or not retry.wait():
                break
        _check(code, what)

    def end(self, producer: ProducerIdentity, *, commit: bool) -> ProducerIdentity:
        """EndTxn; returns the identity for the next transaction. Readers see the outcome soon after this returns."""
        transactional_id = _id_of(producer)
        request = _end_request(producer, commit)
        answer = self._ask(transactional_id, "end_txn", request, _top_code, newest=self.newest("end_txn"))
        _check(answer.error_code, f"the transaction of {transactional_id} cannot be ended")
        if answer.producer_id < 0:
            return producer
        return ProducerIdentity(answer.producer_id, answer.producer_epoch, transactional_id)

    def commit_all(self, producers: Sequence[ProducerIdentity]) -> list[ErrorCode]:
        """EndTxn for many, in few round trips; returns the error code of each."""
        outcomes: dict[int, ErrorCode] = {}
        ids = [_id_of(producer) for producer in producers]
        self._find_coordinators(ids)
        newest = self.newest("end_txn")
        by_node: dict[int, list[int]] = {}
        for index, transactional_id in enumerate(ids):
            if transactional_id in self._coordinators:
                by_node.setdefault(self._coordinators[transactional_id], []).append(index)
        for node, indexes in by_node.items():
            for start in range(0, len(indexes), _PIPELINED_MAX):
                part = indexes[start : start + _PIPELINED_MAX]
                requests = [_end_request(producers[index], True) for index in part]
                outcomes.update(zip(part, self._end_pipelined(node, requests, newest), strict=False))
        for index, transactional_id in enumerate(ids):
            if outcomes.get(index, ErrorCode.concurrent_transactions) in _WAIT:
                request = _end_request(producers[index], True)
                answer = self._ask(transactional_id, "end_txn", request, _top_code, newest=newest)
                outcomes[index] = answer.error_code
        return [outcomes[index] for index in range(len(producers))]

    def _end_pipelined(self, node: int, requests: Sequence[EndTxnRequest], newest: int | None) -> list[ErrorCode]:
        """The responses that came, if the connection broke; the other requests are sent again, one by one."""
        codes: list[ErrorCode] = []
        try:
            connection = self._cluster.connection(node)
            version = self._cluster.version("end_txn", node=node, newest=newest)
            for request in requests:
                connection.send("end_txn", version, request)
            for _ in requests:
                codes.append(connection.receive().error_code)  # noqa: PERF401  what came before an error is kept
        except _UNREACHABLE:
            self._cluster.drop_broken(node)
        return codes

    def _find_coordinators(self, transactional_ids: Sequence[str]) -> None:
        """Many with one request, if the broker can do that; the rest are looked up one by one."""
        unknown = tuple(each for each in transactional_ids if each not in self._coordinators)
        if len(unknown) < 2 or self._cluster.version("find_coordinator") < 4:
            return
        request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=unknown)
        for found in self._cluster.call("find_coordinator", request).coordinators:
            if found.error_code == ErrorCode.none:
                self._coordinators[found.key] = found.node_id

    def _ask(
        self,
        transactional_id: str,
        api_name: str,
        request: object,
        code_of: Callable[[Any], ErrorCode],
        *,
        newest: int | None = None,
        wait_for: frozenset[ErrorCode] = _WAIT,
    ) -> Any:
        """Send a request to the id's coordinator, with retries."""
        retry = self._cluster.retry_policy()
        while True:
            node = self._coordinators.get(transactional_id)
            if node is None:
                node = self._cluster.coordinator(transactional_id, kind=TRANSACTION).node_id
                self._coordinators[transactional_id] = node
            try:
                answer = self._call(node, api_name, request, newest)
            except _UNREACHABLE:
                self._cluster.drop_broken(node)
                self._coordinators.pop(transactional_id, None)
                if not retry.wait():
                    raise
                continue
            code = code_of(answer)
            if code in COORDINATOR_BUSY:
                self._coordinators.pop(transactional_id, None)
            if code not in wait_for or not retry.wait():
                return answer

    def _call(self, node: int, api_name: str, request: object, newest: int | None) -> Any:
        if newest is None:
            return self._cluster.call_once(api_name, request, node=node)
        version = self._cluster.version(api_name, node=node, newest=newest)
        return self._cluster.connection(node).call(api_name, version, request)


def _init_request(transactional_id: str, timeout_ms: int) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout=datetime.timedelta(milliseconds=timeout_ms)
    )


def _end_request(producer: ProducerIdentity, commit: bool) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=_id_of(producer),
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=commit,
    )


def _id_of(producer: ProducerIdentity) -> str:
    if producer.transactional_id is None:
        raise ValueError(f"{producer} has no transactional id")
    return producer.transactional_id


def _top_code(answer: Any) -> ErrorCode:
    code: ErrorCode = answer.error_code
    return code


def _add_partitions_code(answer: Any) -> ErrorCode:
    """The first real error: other partitions then have OPERATION_NOT_ATTEMPTED."""
    codes = [each.partition_error_code for t in answer.results_by_topic_v3_and_below for each in t.results_by_partition]
    real = [code for code in codes if code not in (ErrorCode.none, ErrorCode.operation_not_attempted)]
    return real[0] if real else ErrorCode.none


def _check(code: ErrorCode, what: str) -> None:
    if code != ErrorCode.none:
        raise Refused(code, f"{what}: {code.name.upper()}")
