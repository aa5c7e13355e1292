"""Decides ElectLeaders requests.

Preferred election: the first replica leads again, if it is alive and in sync. Unclean election: if there is no leader,
any live replica becomes leader, although it may lack records; the request asks for it, so no config is checked.
"""

import uuid
from typing import Final

from barnabas.controller.decisions.decision import Decision, Outcome, check_record_count
from barnabas.controller.decisions.placement import active_brokers
from barnabas.metadata.image import ClusterImage, PartitionImage
from barnabas.metadata.records import PartitionChangeRecord
from barnabas.wire.errors import (
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    InvalidRequest,
    KafkaError,
    PreferredLeaderNotAvailable,
    UnknownTopicOrPartition,
)
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest

PREFERRED, UNCLEAN = 0, 1
RECOVERING: Final = 1


Elected = list[tuple[str, list[tuple[int, Outcome]]]]
"""The outcome of each partition, by topic."""


def decide_elect_leaders(image: ClusterImage, request: ElectLeadersRequest) -> Decision[Elected]:
    if request.election_type not in (PREFERRED, UNCLEAN):
        raise InvalidRequest(f"Unknown election type {request.election_type}")
    records: list[PartitionChangeRecord] = []
    elected: Elected = []
    everything = request.topic_partitions is None
    if request.topic_partitions is None:
        wanted = [(topic.name, tuple(topic.partitions)) for topic in image.topics.by_name.values()]
    else:
        wanted = [(topic.topic, topic.partitions) for topic in request.topic_partitions]
    for topic, indexes in wanted:
        outcomes: list[tuple[int, Outcome]] = []
        for index in indexes:
            try:
                record = _elect(image, topic, index, unclean=request.election_type == UNCLEAN)
                check_record_count(len(records) + 1)
            except KafkaError as error:
                if not (everything and isinstance(error, ElectionNotNeeded)):
                    outcomes.append((index, error))
            else:
                records.append(record)
                outcomes.append((index, None))
        elected.append((topic, outcomes))
    return Decision(tuple(records), elected)


def _elect(image: ClusterImage, topic: str, index: int, *, unclean: bool) -> PartitionChangeRecord:
    found = image.topics.by_name.get(topic)
    if found is None:
        raise UnknownTopicOrPartition(f"No such topic as {topic}")
    partition = found.partitions.get(index)
    if partition is None:
        raise UnknownTopicOrPartition(f"No such partition as {topic}-{index}")
    if partition.has_leader and (unclean or partition.leader == partition.preferred_replica):
        raise ElectionNotNeeded("Leader election not needed for topic partition.")
    alive = active_brokers(image)
    if unclean:
        return _uncleanly(found.id, index, partition, alive)
    preferred = partition.preferred_replica
    if preferred in partition.isr and preferred in alive:
        return PartitionChangeRecord(partition_id=index, topic_id=found.id, leader=preferred)
    raise PreferredLeaderNotAvailable("The preferred leader was not available.")


def _uncleanly(topic_id: uuid.UUID, index: int, partition: PartitionImage, alive: set[int]) -> PartitionChangeRecord:
    in_sync = [replica for replica in partition.replicas if replica in partition.isr and replica in alive]
    if in_sync:
        return PartitionChangeRecord(partition_id=index, topic_id=topic_id, leader=in_sync[0])
    lagging = [replica for replica in partition.replicas if replica in alive]
    if not lagging:
        raise EligibleLeadersNotAvailable("Eligible topic partition leaders are not available.")
    return PartitionChangeRecord(
        partition_id=index,
        topic_id=topic_id,
        leader=lagging[0],
        isr=(lagging[0],),
        leader_recovery_state=RECOVERING,
        eligible_leader_replicas=(),
        last_known_elr=(),
    )
