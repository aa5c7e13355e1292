"""Constructs the parts of share groups: the share coordinator and its log, share-partitions, sessions, rules.

Imported when the first share group is used, or when this broker leads a partition of the state topic.
"""

from collections.abc import Awaitable, Callable, Mapping

from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.coordinator.share.settings import ShareCoordinatorSettings
from barnabas.coordinator.share_coordinator import ShareCoordinator
from barnabas.coordinator.share_groups import ShareGroups
from barnabas.env import Clock, Workers
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_session import ShareSessions
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.image import GROUP, ClusterImage
from barnabas.model import SHARE_STATE_TOPIC
from barnabas.model.quantities import parse_iso_duration_ms
from barnabas.model.share import SharePartitionKey
from barnabas.node.coordinator_log import TopicCoordinatorLog
from barnabas.replication.replicas import Replicas
from barnabas.share_partitions.core.rules import BY_DURATION, EARLIEST, LATEST, OffsetReset, ShareRules
from barnabas.share_partitions.core.terms import ShareLimits
from barnabas.share_partitions.share_partitions import SharePartitions


class StateTopicReplicas(TopicCoordinatorLog):
    """The share coordinator's log; records that are no longer needed are deleted."""

    def end_offset(self, partition: int) -> int:
        return self._replicas.get(self._topic, partition).log.log_end_offset

    async def delete_before(self, partition: int, offset: int) -> None:
        self._replicas.get(self._topic, partition).log.delete_records(offset)
        await self._replicas.checkpoints.write()


def make_share_coordinator(
    *,
    replicas: Replicas,
    workers: Workers,
    clock: Clock,
    image: Callable[[], ClusterImage],
    configs: BrokerConfigs,
) -> ShareCoordinator:
    def has_partition(key: SharePartitionKey) -> bool:
        topic = image().topics.by_id.get(key.topic_id)
        return topic is not None and key.partition in topic.partitions

    return ShareCoordinator(
        log=StateTopicReplicas(SHARE_STATE_TOPIC, replicas, workers),
        clock=clock,
        settings=ShareCoordinatorSettings(
            updates_per_snapshot=configs.integer("share.coordinator.snapshot.update.records.per.snapshot"),
            cold_snapshot_interval_ms=configs.integer("share.coordinator.cold.partition.snapshot.interval.ms"),
            prune_interval_ms=configs.integer("share.coordinator.state.topic.prune.interval.ms"),
            write_timeout_ms=configs.integer("share.coordinator.write.timeout.ms"),
        ),
        partition_count=configs.integer("share.coordinator.state.topic.num.partitions"),
        has_partition=has_partition,
    )


def make_share_services(
    *,
    replicas: Replicas,
    clock: Clock,
    wait_clock: Clock,
    image: Callable[[], ClusterImage],
    configs: Callable[[], BrokerConfigs],
    coordinator: Callable[[], ShareCoordinator],
    groups: Callable[[], GroupCoordinator],
    ensure_internal_topic: Callable[[str], Awaitable[None]],
) -> ShareServices:
    return ShareServices(
        ShareGroups(
            groups, coordinator, ensure_state_topic=lambda: ensure_internal_topic(SHARE_STATE_TOPIC), clock=wait_clock
        ),
        SharePartitions(
            replicas,
            persister=coordinator(),
            clock=clock,
            wait_clock=wait_clock,
            rules_of=lambda group_id: share_rules(configs(), image().configs.of(GROUP, group_id)),
        ),
        ShareSessions(lambda: configs().integer("group.share.max.share.sessions")),
        coordinator,
    )


def share_rules(broker: BrokerConfigs, group: Mapping[str, str]) -> ShareRules:
    """The group's own configs, which were validated when they were set, or else the broker's."""

    def integer(name: str, default: str, least: str, most: str) -> int:
        own = group.get(name)
        if own is None:
            return broker.integer(default)
        # The bounds may have been narrowed after the value was set, so it is clamped.
        return min(max(int(own), broker.integer(least)), broker.integer(most))

    return ShareRules(
        limits=ShareLimits(
            delivery_count_limit=integer(
                "share.delivery.count.limit",
                "group.share.delivery.count.limit",
                "group.share.min.delivery.count.limit",
                "group.share.max.delivery.count.limit",
            ),
            record_locks_max=integer(
                "share.partition.max.record.locks",
                "group.share.partition.max.record.locks",
                "group.share.min.partition.max.record.locks",
                "group.share.max.partition.max.record.locks",
            ),
            lock_duration_ms=integer(
                "share.record.lock.duration.ms",
                "group.share.record.lock.duration.ms",
                "group.share.min.record.lock.duration.ms",
                "group.share.max.record.lock.duration.ms",
            ),
            renew_enabled=group.get("share.renew.acknowledge.enable", "true").strip().lower() == "true",
        ),
        offset_reset=_offset_reset(group.get("share.auto.offset.reset", LATEST.strategy)),
        read_committed=group.get("share.isolation.level", "read_uncommitted") == "read_committed",
    )


def _offset_reset(value: str) -> OffsetReset:
    strategy, _, duration = value.strip().lower().partition(":")
    if strategy == BY_DURATION:
        return OffsetReset(BY_DURATION, parse_iso_duration_ms(duration.strip()))  # validated when it was set
    return EARLIEST if strategy == EARLIEST.strategy else LATEST
