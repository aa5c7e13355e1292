"""Decides UnregisterBroker requests: removes a broker that will not come back.

It is removed from the in-sync replicas, unless it is the last one; then the partition has no leader until it is back.
"""

from barnabas.controller.decisions.decision import Decision
from barnabas.controller.decisions.placement import active_brokers
from barnabas.metadata.image import ClusterImage, PartitionImage
from barnabas.metadata.records import NO_LEADER, NO_LEADER_CHANGE, MetadataRecord, PartitionChangeRecord
from barnabas.metadata.records import UnregisterBrokerRecord as Unregister
from barnabas.wire.errors import BrokerIdNotRegistered, InvalidRequest


def decide_unregister_broker(image: ClusterImage, broker_id: int) -> Decision[None]:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise BrokerIdNotRegistered(f"Broker ID {broker_id} is not currently registered")
    if not broker.fenced:
        raise InvalidRequest(f"Broker {broker_id} is running: stop it before it is unregistered.")
    alive = active_brokers(image)
    records: list[MetadataRecord] = []
    for topic in image.topics.by_id.values():
        for index, partition in topic.partitions.items():
            if broker_id in partition.isr:
                isr, leader = _without(partition, broker_id, alive)
                records.append(PartitionChangeRecord(partition_id=index, topic_id=topic.id, isr=isr, leader=leader))
    records.append(Unregister(broker_id=broker_id, broker_epoch=broker.epoch))
    return Decision(tuple(records), None)


def _without(partition: PartitionImage, broker_id: int, alive: set[int]) -> tuple[tuple[int, ...] | None, int]:
    rest = tuple(replica for replica in partition.isr if replica != broker_id)
    if partition.leader not in (broker_id, NO_LEADER):
        return rest, NO_LEADER_CHANGE
    leader = next((replica for replica in rest if replica in alive), NO_LEADER)
    return rest or None, leader
