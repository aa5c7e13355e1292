"""Builds the next image: a working copy of an image, to which records are applied one by one.

Each mapping is copied on its first change. The draft keeps track of what was changed, so that the delta compares only
that.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar

from barnabas.metadata.image import (
    TOPIC,
    AccessImage,
    BrokerImage,
    ClusterImage,
    ConfigsImage,
    ControllerImage,
    Endpoint,
    PartitionImage,
    QuotaKey,
    SupportedVersions,
    TopicImage,
    TopicsImage,
)
from barnabas.metadata.records import (
    AccessControlEntryRecord,
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    ControllerEndpoint,
    ControllerFeature,
    DelegationTokenRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)

K = TypeVar("K")
V = TypeVar("V")


class UnreplayableRecord(Exception):
    """The record contradicts the image, or is newer than this version; skipping it would lose metadata."""


class _Copied(Generic[K, V]):
    """A mapping of the old image, copied when it is first changed."""

    __slots__ = ("_copy", "current")

    def __init__(self, original: Mapping[K, V]) -> None:
        self.current = original
        self._copy: dict[K, V] | None = None

    def own(self) -> dict[K, V]:
        if self._copy is None:
            self.current = self._copy = dict(self.current)
        return self._copy


class Draft:
    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self._by_id = _Copied(image.topics.by_id)
        self._by_name = _Copied(image.topics.by_name)
        self._partitions: dict[uuid.UUID, dict[int, PartitionImage]] = {}  # copies, for topics changed here
        self._brokers = _Copied(image.brokers)
        self._controllers = _Copied(image.controllers)
        self._configs = _Copied(image.configs.by_resource)
        self._features = _Copied(image.features)
        self._next_producer_id = image.next_producer_id
        self._acls = _Copied(image.access.acls)
        self._scram_credentials = _Copied(image.access.scram_credentials)
        self._delegation_tokens = _Copied(image.access.delegation_tokens)
        self._client_quotas = _Copied(image.access.client_quotas)
        self.topics_touched: set[uuid.UUID] = set()
        self.configs_touched: set[tuple[int, str]] = set()
        self.brokers_touched: set[int] = set()
        self.features_touched: set[str] = set()

    def apply(self, record: MetadataRecord) -> None:
        _APPLY[type(record)](self, record)

    def image(self) -> ClusterImage:
        return replace(
            self._image,
            topics=TopicsImage(by_id=self._by_id.current, by_name=self._by_name.current),
            brokers=self._brokers.current,
            controllers=self._controllers.current,
            configs=ConfigsImage(by_resource=self._configs.current),
            features=self._features.current,
            next_producer_id=self._next_producer_id,
            access=AccessImage(
                acls=self._acls.current,
                scram_credentials=self._scram_credentials.current,
                delegation_tokens=self._delegation_tokens.current,
                client_quotas=self._client_quotas.current,
            ),
        )

    # Topics

    def _topic(self, record: TopicRecord) -> None:
        namesake = self._by_name.current.get(record.name)
        if namesake is not None and namesake.id != record.topic_id:
            raise UnreplayableRecord(f"topic {record.name} has the id {namesake.id} already, not {record.topic_id}")
        self._put_topic(TopicImage(id=record.topic_id, name=record.name, partitions={}))

    def _put_topic(self, topic: TopicImage) -> dict[int, PartitionImage]:
        partitions = dict(topic.partitions)
        topic = replace(topic, partitions=partitions)
        self._by_id.own()[topic.id] = topic
        self._by_name.own()[topic.name] = topic
        self._partitions[topic.id] = partitions
        self.topics_touched.add(topic.id)
        return partitions

    def _own_partitions(self, topic_id: uuid.UUID) -> dict[int, PartitionImage]:
        owned = self._partitions.get(topic_id)
        if owned is not None:
            return owned
        topic = self._by_id.current.get(topic_id)
        if topic is None:
            raise UnreplayableRecord(f"there is no topic with the id {topic_id}")
        return self._put_topic(topic)

    def _partition(self, record: PartitionRecord) -> None:
        self._own_partitions(record.topic_id)[record.partition_id] = PartitionImage.of(record)

    def _partition_change(self, record: PartitionChangeRecord) -> None:
        partitions = self._own_partitions(record.topic_id)
        partition = partitions.get(record.partition_id)
        if partition is None:
            raise UnreplayableRecord(f"topic {record.topic_id} has no partition {record.partition_id}")
        partitions[record.partition_id] = partition.merge(record)

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        topic = self._by_id.own().pop(record.topic_id, None)
        if topic is None:
            raise UnreplayableRecord(f"there is no topic with the id {record.topic_id} to remove")
        del self._by_name.own()[topic.name]
        self._partitions.pop(topic.id, None)
        self.topics_touched.add(topic.id)
        self._set_configs((TOPIC, topic.name), {})

    def _clear_elr(self, record: ClearElrRecord) -> None:
        topics = list(self._by_id.current.values())
        if record.topic_name:
            topic = self._by_name.current.get(record.topic_name)
            if topic is None:
                raise UnreplayableRecord(f"there is no topic {record.topic_name} to clear the ELR of")
            topics = [topic]
        clear = PartitionChangeRecord(eligible_leader_replicas=(), last_known_elr=())
        for topic in topics:
            for index, partition in list(topic.partitions.items()):
                if partition.eligible_leader_replicas or partition.last_known_elr:
                    self._own_partitions(topic.id)[index] = partition.merge(clear)

    # Brokers and controllers

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        self._put_broker(
            BrokerImage(
                id=record.broker_id,
                epoch=record.broker_epoch,
                incarnation_id=record.incarnation_id,
                endpoints=_endpoints(record.end_points),
                features=_features(record.features),
                rack=record.rack,
                fenced=record.fenced,
                in_controlled_shutdown=record.in_controlled_shutdown,
                directories=record.log_dirs,
                cordoned_directories=record.cordoned_log_dirs,
            )
        )

    def _put_broker(self, broker: BrokerImage) -> None:
        self._brokers.own()[broker.id] = broker
        self.brokers_touched.add(broker.id)

    def _registered(self, broker_id: int, epoch: int) -> BrokerImage:
        broker = self._brokers.current.get(broker_id)
        if broker is None or broker.epoch != epoch:
            raise UnreplayableRecord(f"broker {broker_id} is not registered with epoch {epoch}")
        return broker

    def _unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self._brokers.own().pop(record.broker_id, None)
        self.brokers_touched.add(record.broker_id)

    def _fence_broker(self, record: FenceBrokerRecord) -> None:
        self._put_broker(replace(self._registered(record.id, record.epoch), fenced=True))

    def _unfence_broker(self, record: UnfenceBrokerRecord) -> None:
        self._put_broker(replace(self._registered(record.id, record.epoch), fenced=False))

    def _broker_change(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._registered(record.broker_id, record.broker_epoch)
        cordoned = record.cordoned_log_dirs
        self._put_broker(
            replace(
                broker,
                fenced=broker.fenced if record.fenced == 0 else record.fenced > 0,
                in_controlled_shutdown=broker.in_controlled_shutdown or record.in_controlled_shutdown == 1,
                directories=record.log_dirs or broker.directories,
                cordoned_directories=broker.cordoned_directories if cordoned is None else cordoned,
            )
        )

    def _register_controller(self, record: RegisterControllerRecord) -> None:
        self._controllers.own()[record.controller_id] = ControllerImage(
            id=record.controller_id,
            incarnation_id=record.incarnation_id,
            endpoints=_endpoints(record.end_points),
            features=_features(record.features),
        )

    # The cluster as a whole

    def _config(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        configs = dict(self._configs.current.get(resource, {}))
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value
        self._set_configs(resource, configs)

    def _set_configs(self, resource: tuple[int, str], configs: dict[str, str]) -> None:
        if configs:
            self._configs.own()[resource] = configs
        elif resource in self._configs.current:
            del self._configs.own()[resource]
        self.configs_touched.add(resource)

    def _feature_level(self, record: FeatureLevelRecord) -> None:
        if record.feature_level:
            self._features.own()[record.name] = record.feature_level
        else:
            self._features.own().pop(record.name, None)
        self.features_touched.add(record.name)

    def _producer_ids(self, record: ProducerIdsRecord) -> None:
        self._next_producer_id = record.next_producer_id

    # Access control: stored, not enforced here

    def _acl(self, record: AccessControlEntryRecord) -> None:
        if record.id is None:
            raise UnreplayableRecord("an ACL has no id")
        self._acls.own()[record.id] = record

    def _remove_acl(self, record: RemoveAccessControlEntryRecord) -> None:
        if record.id is None or self._acls.own().pop(record.id, None) is None:
            raise UnreplayableRecord(f"there is no ACL with the id {record.id} to remove")

    def _scram_credential(self, record: UserScramCredentialRecord) -> None:
        self._scram_credentials.own()[record.name, record.mechanism] = record

    def _remove_scram_credential(self, record: RemoveUserScramCredentialRecord) -> None:
        self._scram_credentials.own().pop((record.name, record.mechanism), None)

    def _delegation_token(self, record: DelegationTokenRecord) -> None:
        self._delegation_tokens.own()[record.token_id] = record

    def _remove_delegation_token(self, record: RemoveDelegationTokenRecord) -> None:
        self._delegation_tokens.own().pop(record.token_id, None)

    def _client_quota(self, record: ClientQuotaRecord) -> None:
        key: QuotaKey = tuple(
            sorted(((part.entity_type, part.entity_name) for part in record.entity), key=lambda part: part[0])
        )
        quotas = dict(self._client_quotas.current.get(key, {}))
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        if quotas:
            self._client_quotas.own()[key] = quotas
        else:
            self._client_quotas.own().pop(key, None)

    def _ignore(self, record: NoOpRecord | ZkMigrationStateRecord) -> None:
        """NoOpRecord only advances the log; ZkMigrationStateRecord is about a migration from ZooKeeper."""


_APPLY: Final[dict[type[MetadataRecord], Callable[[Draft, Any], None]]] = {
    TopicRecord: Draft._topic,
    PartitionRecord: Draft._partition,
    PartitionChangeRecord: Draft._partition_change,
    RemoveTopicRecord: Draft._remove_topic,
    ClearElrRecord: Draft._clear_elr,
    RegisterBrokerRecord: Draft._register_broker,
    UnregisterBrokerRecord: Draft._unregister_broker,
    FenceBrokerRecord: Draft._fence_broker,
    UnfenceBrokerRecord: Draft._unfence_broker,
    BrokerRegistrationChangeRecord: Draft._broker_change,
    RegisterControllerRecord: Draft._register_controller,
    ConfigRecord: Draft._config,
    FeatureLevelRecord: Draft._feature_level,
    ProducerIdsRecord: Draft._producer_ids,
    AccessControlEntryRecord: Draft._acl,
    RemoveAccessControlEntryRecord: Draft._remove_acl,
    UserScramCredentialRecord: Draft._scram_credential,
    RemoveUserScramCredentialRecord: Draft._remove_scram_credential,
    DelegationTokenRecord: Draft._delegation_token,
    RemoveDelegationTokenRecord: Draft._remove_delegation_token,
    ClientQuotaRecord: Draft._client_quota,
    NoOpRecord: Draft._ignore,
    ZkMigrationStateRecord: Draft._ignore,
}


def _endpoints(recorded: tuple[BrokerEndpoint, ...] | tuple[ControllerEndpoint, ...]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(each.name, each.host, each.port, each.security_protocol) for each in recorded)


def _features(
    recorded: tuple[BrokerFeature, ...] | tuple[ControllerFeature, ...],
) -> Mapping[str, SupportedVersions]:
    return {each.name: SupportedVersions(each.min_supported_version, each.max_supported_version) for each in recorded}
