"""Converts an image into records, the content of a metadata snapshot, in Kafka's order."""

from collections.abc import Iterator

from barnabas.metadata.image import BrokerImage, ClusterImage, ControllerImage, PartitionImage, TopicImage
from barnabas.metadata.records import (
    BrokerEndpoint,
    BrokerFeature,
    ClientQuotaRecord,
    ConfigRecord,
    ControllerEndpoint,
    ControllerFeature,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    QuotaEntity,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
)


def image_to_records(image: ClusterImage) -> Iterator[MetadataRecord]:
    """Replayed on an empty image, the records yield this image, except for its offset and epoch.

    Not possible while a metadata transaction is open: its records may still be aborted.
    """
    if image.open_transaction is not None:
        raise ValueError("a metadata transaction is open: take the snapshot once it has ended")
    # Readers need the metadata.version before any record that depends on it.
    for name in sorted(image.features, key=lambda name: (name != "metadata.version", name)):
        yield FeatureLevelRecord(name=name, feature_level=image.features[name])
    for broker in image.brokers.values():
        yield _broker(broker)
    for controller in image.controllers.values():
        yield _controller(controller)
    for topic in image.topics.by_id.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for index, partition in topic.partitions.items():
            yield _partition(topic, index, partition)
    for (resource_type, resource_name), configs in image.configs.by_resource.items():
        for name, value in configs.items():
            yield ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value)
    for key, quotas in image.access.client_quotas.items():
        entity = tuple(QuotaEntity(entity_type=kind, entity_name=name) for kind, name in key)
        for quota, limit in quotas.items():
            yield ClientQuotaRecord(entity=entity, key=quota, value=limit)
    if image.next_producer_id:
        yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id)
    yield from image.access.acls.values()
    yield from image.access.scram_credentials.values()
    yield from image.access.delegation_tokens.values()


def _broker(broker: BrokerImage) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=tuple(
            BrokerEndpoint(name=name, host=host, port=port, security_protocol=protocol)
            for name, host, port, protocol in broker.endpoints
        ),
        features=tuple(
            BrokerFeature(name=name, min_supported_version=supported.min, max_supported_version=supported.max)
            for name, supported in broker.features.items()
        ),
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=broker.directories,
        cordoned_log_dirs=broker.cordoned_directories,
    )


def _controller(controller: ControllerImage) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=controller.id,
        incarnation_id=controller.incarnation_id,
        end_points=tuple(
            ControllerEndpoint(name=name, host=host, port=port, security_protocol=protocol)
            for name, host, port, protocol in controller.endpoints
        ),
        features=tuple(
            ControllerFeature(name=name, min_supported_version=supported.min, max_supported_version=supported.max)
            for name, supported in controller.features.items()
        ),
    )


def _partition(topic: TopicImage, index: int, partition: PartitionImage) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=topic.id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing_replicas,
        adding_replicas=partition.adding_replicas,
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=partition.directories,
        # Tagged fields are left out if they are empty, as in Kafka, to save space.
        eligible_leader_replicas=partition.eligible_leader_replicas or None,
        last_known_elr=partition.last_known_elr or None,
    )
