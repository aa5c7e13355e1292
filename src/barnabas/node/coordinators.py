"""The coordinators of groups, transactions and share groups, each created when it is first needed.

Each coordinates for the partitions of its internal topic that this broker leads (`coordinator_partitions`). Their
modules are imported on creation: a broker without groups starts without them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.metadata.features import TRANSACTION_VERSION
from barnabas.model import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from barnabas.node.coordinator_partitions import CoordinatorPartitions
from barnabas.node.transaction_markers import LocalMarkers

if TYPE_CHECKING:
    import random

    from barnabas.controller.producer_ids import ProducerIdSource
    from barnabas.coordinator.group_coordinator import GroupCoordinator
    from barnabas.coordinator.share_coordinator import ShareCoordinator
    from barnabas.coordinator.txn_coordinator import TransactionCoordinator
    from barnabas.env import Clock, Workers
    from barnabas.handlers.share_services import ShareServices
    from barnabas.metadata.configs import BrokerConfigs
    from barnabas.metadata.delta import Delta
    from barnabas.metadata.image import ClusterImage
    from barnabas.replication.replicas import Replicas


class CoordinatorDependencies(NamedTuple):
    """What coordinators need from the broker."""

    node_id: int
    replicas: Replicas
    workers: Workers
    clock: Clock
    wait_clock: Clock
    rng: random.Random
    image: Callable[[], ClusterImage]
    configs: Callable[[], BrokerConfigs]
    producer_ids: ProducerIdSource
    ensure_internal_topic: Callable[[str], Awaitable[None]]


class Coordinators:
    def __init__(self, dependencies: CoordinatorDependencies) -> None:
        self._dependencies = dependencies
        self._groups: CoordinatorPartitions[GroupCoordinator] = CoordinatorPartitions(
            OFFSETS_TOPIC,
            self._make_groups,
            node_id=dependencies.node_id,
            clock=dependencies.wait_clock,
            on_change=_notify_groups,
        )
        self._transactions: CoordinatorPartitions[TransactionCoordinator] = CoordinatorPartitions(
            TRANSACTIONS_TOPIC, self._make_transactions, node_id=dependencies.node_id, clock=dependencies.wait_clock
        )
        self._share_states: CoordinatorPartitions[ShareCoordinator] = CoordinatorPartitions(
            SHARE_STATE_TOPIC,
            self._make_share_states,
            node_id=dependencies.node_id,
            clock=dependencies.wait_clock,
            on_change=self._notify_share_groups,
        )
        self._all: tuple[CoordinatorPartitions[Any], ...] = (self._groups, self._transactions, self._share_states)
        self.markers = LocalMarkers(
            dependencies.replicas, dependencies.clock, image=dependencies.image, groups=self.groups
        )

    def groups(self) -> GroupCoordinator:
        return self._groups.coordinator

    def transactions(self) -> TransactionCoordinator:
        return self._transactions.coordinator

    def share_states(self) -> ShareCoordinator:
        return self._share_states.coordinator

    def share(self) -> ShareServices:
        return self._share

    # --- start and stop

    def apply(self, image: ClusterImage, delta: Delta) -> None:
        for each in self._all:
            each.apply(image, delta)

    def serve(self) -> None:
        for each in self._all:
            each.serve()

    async def stop(self) -> None:
        if "_share" in self.__dict__:
            await self._share.close()
        for each in self._all:
            await each.stop()

    # --- creation

    def _make_groups(self) -> GroupCoordinator:
        from barnabas.coordinator.group_coordinator import GroupCoordinator
        from barnabas.node.coordinator_log import TopicCoordinatorLog
        from barnabas.node.group_settings import group_settings

        dependencies = self._dependencies
        return GroupCoordinator(
            log=TopicCoordinatorLog(OFFSETS_TOPIC, dependencies.replicas, dependencies.workers),
            clock=dependencies.clock,
            random_bytes=dependencies.rng.randbytes,
            settings=group_settings(dependencies.configs()),
            partition_count=dependencies.configs().integer("offsets.topic.num.partitions"),
            workers=dependencies.workers,
            image=dependencies.image,
        )

    def _make_transactions(self) -> TransactionCoordinator:
        from barnabas.coordinator.txn_coordinator import TransactionCoordinator
        from barnabas.node.coordinator_log import TopicCoordinatorLog
        from barnabas.node.transaction_settings import transaction_settings

        dependencies = self._dependencies
        return TransactionCoordinator(
            # Older state could commit what was aborted: better no answer than that.
            log=TopicCoordinatorLog(TRANSACTIONS_TOPIC, dependencies.replicas, dependencies.workers, skip_damage=False),
            markers=self.markers,
            producer_ids=dependencies.producer_ids,
            clock=dependencies.clock,
            wait_clock=dependencies.wait_clock,
            settings=transaction_settings(dependencies.configs()),
            transaction_version=lambda: dependencies.image().features.get(TRANSACTION_VERSION, 0),
            partition_count=dependencies.configs().integer("transaction.state.log.num.partitions"),
        )

    def _make_share_states(self) -> ShareCoordinator:
        from barnabas.node.share_groups import make_share_coordinator

        dependencies = self._dependencies
        return make_share_coordinator(
            replicas=dependencies.replicas,
            workers=dependencies.workers,
            clock=dependencies.clock,
            image=dependencies.image,
            configs=dependencies.configs(),
        )

    @cached_property
    def _share(self) -> ShareServices:
        from barnabas.node.share_groups import make_share_services

        dependencies = self._dependencies
        return make_share_services(
            replicas=dependencies.replicas,
            clock=dependencies.clock,
            wait_clock=dependencies.wait_clock,
            image=dependencies.image,
            configs=dependencies.configs,
            coordinator=self.share_states,
            groups=self.groups,
            ensure_internal_topic=dependencies.ensure_internal_topic,
        )

    def _notify_share_groups(
        self, states: ShareCoordinator, image: ClusterImage, delta: Delta
    ) -> Awaitable[None] | None:
        return self._share.on_topics_deleted(set(delta.topics_deleted)) if delta.topics_deleted else None


def _notify_groups(groups: GroupCoordinator, image: ClusterImage, delta: Delta) -> Awaitable[None] | None:
    deleted = {topic.name for topic in delta.topics_deleted.values()}
    return groups.on_topics_deleted(deleted) if deleted else None
