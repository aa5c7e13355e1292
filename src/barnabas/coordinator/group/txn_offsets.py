"""Offsets committed in a transaction: they take effect when it is committed.

From version 3 on a client sends its member id and generation, so that a consumer that was replaced cannot commit;
before, only the producer epoch fences. Unlike other commits these are accepted during a rebalance, as long as the
generation is still current.
"""

from typing import Final

from barnabas.coordinator.decision import Decision, Now
from barnabas.coordinator.group.classic_group import ClassicGroup
from barnabas.coordinator.group.consumer.offset_access import CommittedTopic, Committer, check_txn_commit
from barnabas.coordinator.group.states import EMPTY
from barnabas.coordinator.group.store import GroupStore
from barnabas.coordinator.group.stored import CommittedOffset, OffsetRecord
from barnabas.coordinator.ports import TransactionalProducer
from barnabas.wire.errors import ErrorCode, IllegalGeneration, OffsetMetadataTooLarge
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_NO_GENERATION: Final = -1


def decide_txn_commit(
    store: GroupStore, request: TxnOffsetCommitRequest, producer: TransactionalProducer, now: Now
) -> Decision[TxnOffsetCommitResponse]:
    group = store.groups.get(request.group_id)
    modern = store.modern.get(request.group_id)
    if modern is not None:
        by_name = store.catalog.topics.by_name
        committer = Committer(request.member_id, request.group_instance_id, request.generation_id)
        check_txn_commit(
            modern,
            committer,
            (
                CommittedTopic(
                    topic.name,
                    by_name[topic.name].id if topic.name in by_name else None,
                    [each.partition_index for each in topic.partitions],
                )
                for topic in request.topics
            ),
        )
    elif group is not None:
        _validate(group, request)
    elif request.generation_id >= 0:
        raise IllegalGeneration(f"there is no group {request.group_id}")
    records: list[OffsetRecord] = []
    topics = []
    for topic in request.topics:
        partitions = []
        for partition in topic.partitions:
            error = ErrorCode.none
            if len(partition.committed_metadata or "") > store.settings.offset_metadata_bytes_max:
                error = OffsetMetadataTooLarge.code
            else:
                committed = _committed(partition, now.wall_ms)
                records.append(OffsetRecord(request.group_id, topic.name, partition.partition_index, committed))
            partitions.append(
                TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error)
            )
        topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=tuple(partitions)))
    return Decision(TxnOffsetCommitResponse(topics=tuple(topics)), list(records), producer=producer)


def _validate(group: ClassicGroup, request: TxnOffsetCommitRequest) -> None:
    generation = request.generation_id
    if generation < 0 and group.state is EMPTY:
        return
    if generation == _NO_GENERATION and not request.member_id and request.group_instance_id is None:
        return
    group.validated(request.member_id, request.group_instance_id)
    if generation != group.generation:
        raise IllegalGeneration(f"group {group.group_id} is in generation {group.generation}; join again")


def _committed(partition: TxnOffsetCommitRequestPartition, now_ms: int) -> CommittedOffset:
    return CommittedOffset(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=now_ms,
    )
