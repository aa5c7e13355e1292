"""Offsets committed in a transaction: they take effect when it is committed.

From version 3 on a client sends its member id and generation, so that a consumer that was replaced cannot commit;
before, only the producer epoch fences. Unlike other commits these are accepted during a rebalance, as long as the
generation is still current.
"""

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.core.ports import TransactionalProducer
from barnabas.coordinator.group.classic.offset_access import check_txn_commit as check_classic
from barnabas.coordinator.group.consumer.offset_access import CommittedTopic, Committer, check_txn_commit
from barnabas.coordinator.group.offsets.commit import Refused, metadata_too_large
from barnabas.coordinator.group.offsets.stored import CommittedOffset, OffsetRecord
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import IllegalGeneration
from barnabas.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition


def decide_txn_commit(
    store: GroupStore, request: TxnOffsetCommitRequest, producer: TransactionalProducer, now: Now
) -> Decision[Refused]:
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
        check_classic(group, request.member_id, request.group_instance_id, request.generation_id)
    elif request.generation_id >= 0:
        raise IllegalGeneration(f"there is no group {request.group_id}")
    metadata_max = store.settings.offset_metadata_bytes_max
    records: list[OffsetRecord] = []
    refused: Refused = {}
    for topic in request.topics:
        for partition in topic.partitions:
            index = partition.partition_index
            if len(partition.committed_metadata or "") > metadata_max:
                refused[topic.name, index] = metadata_too_large(metadata_max)
            else:
                records.append(OffsetRecord(request.group_id, topic.name, index, _committed(partition, now.wall_ms)))
    return Decision(refused, list(records), producer=producer)


def _committed(partition: TxnOffsetCommitRequestPartition, now_ms: int) -> CommittedOffset:
    return CommittedOffset(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=now_ms,
    )
