"""Decides broker registrations, and the feature levels of a new cluster."""

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

from barnabas.controller.decisions.decision import Decision
from barnabas.controller.decisions.elr_safety import elr_safety_records
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.features import INITIAL_FEATURES, METADATA_VERSION
from barnabas.metadata.image import ClusterImage, Endpoint, PartitionImage
from barnabas.metadata.records import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    RegisterBrokerRecord,
)

UNFENCE: Final = -1
FENCE: Final = 1


class BrokerRegistration(NamedTuple):
    broker_id: int
    incarnation_id: uuid.UUID
    """A new one for every start of the process."""
    endpoints: tuple[Endpoint, ...]
    """The advertised ones, which clients use."""
    features: Mapping[str, tuple[int, int]]
    """The lowest and highest supported level of each feature."""
    rack: str | None
    directories: tuple[uuid.UUID, ...]
    clean_shutdown: bool
    """Whether the broker was stopped cleanly, with everything acknowledged on disk."""


def decide_bootstrap(image: ClusterImage, configs: BrokerConfigs) -> Decision[None]:
    """The feature levels of a new cluster, its very first records; nothing for an existing one."""
    if METADATA_VERSION in image.features:
        return Decision((), None)
    levels = (FeatureLevelRecord(name=name, feature_level=level) for name, level in INITIAL_FEATURES.items())
    return Decision((*levels, *elr_safety_records(image, configs)), None)


def decide_register_broker(image: ClusterImage, registration: BrokerRegistration) -> Decision[int]:
    """The response is the broker's epoch. The broker is unfenced right after its registration: it registers when ready.

    Partitions that had no leader because this broker was away get one. After an unclean stop, partitions that it leads
    get a new leader epoch as well: unsynced records may be lost, and the epoch tells consumers that read them
    (KIP-320).
    """
    epoch = image.offset + 1
    records: list[MetadataRecord] = [
        RegisterBrokerRecord(
            broker_id=registration.broker_id,
            incarnation_id=registration.incarnation_id,
            broker_epoch=epoch,
            end_points=tuple(
                BrokerEndpoint(name=name, host=host, port=port, security_protocol=protocol)
                for name, host, port, protocol in registration.endpoints
            ),
            features=tuple(
                BrokerFeature(name=name, min_supported_version=lowest, max_supported_version=highest)
                for name, (lowest, highest) in sorted(registration.features.items())
            ),
            rack=registration.rack,
            log_dirs=registration.directories,
            fenced=True,
        ),
        BrokerRegistrationChangeRecord(broker_id=registration.broker_id, broker_epoch=epoch, fenced=UNFENCE),
    ]
    records += (
        change
        for topic in image.topics.by_id.values()
        for index, partition in topic.partitions.items()
        if (change := _election(topic.id, index, partition, registration)) is not None
    )
    return Decision(tuple(records), epoch)


def _election(
    topic_id: uuid.UUID, index: int, partition: PartitionImage, registration: BrokerRegistration
) -> PartitionChangeRecord | None:
    broker_id = registration.broker_id
    elect = partial(PartitionChangeRecord, partition_id=index, topic_id=topic_id, leader=broker_id)
    if partition.leader == broker_id:
        return elect() if broker_id in partition.isr and not registration.clean_shutdown else None
    if partition.has_leader:
        return None
    if broker_id in partition.isr:
        return elect()
    # Apache Kafka with eligible leader replicas (KIP-966) removes even the last broker from the ISR when it stops,
    # and records that it may lead again.
    eligible = partition.eligible_leader_replicas
    if not partition.isr and (broker_id in eligible or (not eligible and partition.last_known_elr == (broker_id,))):
        others = tuple(each for each in eligible if each != broker_id)
        return elect(isr=(broker_id,), eligible_leader_replicas=others, last_known_elr=())
    return None


def decide_fence_broker(image: ClusterImage, *, broker_id: int, broker_epoch: int) -> Decision[None]:
    """A broker fences itself when it stops, so that nobody waits for its session to expire (9 s with Kafka).

    It stays the leader of its partitions: no other broker has the records.
    """
    broker = image.brokers.get(broker_id)
    if broker is None or broker.epoch != broker_epoch or broker.fenced:
        return Decision((), None)
    change = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker_epoch, fenced=FENCE, in_controlled_shutdown=1
    )
    return Decision((change,), None)
