"""The cluster metadata at one offset of the metadata log: immutable, built by `replay`.

The mappings are plain dicts that are never changed. A new image shares all unchanged mappings with the previous one, so
an image is cheap to build, and safe to keep while newer ones are built.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from barnabas.metadata.records import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    AccessControlEntryRecord,
    DelegationTokenRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    UserScramCredentialRecord,
)

TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
CLIENT_METRICS: Final = 16
GROUP: Final = 32
"""Kafka's config resource types. The broker resource named "" holds the defaults of the whole cluster."""

DIRECTORY_MIGRATING: Final = uuid.UUID(int=0)
"""The replica has a directory, but it was never recorded which."""
DIRECTORY_UNASSIGNED: Final = uuid.UUID(int=1)
"""The broker has not yet chosen a directory for the replica."""
DIRECTORY_LOST: Final = uuid.UUID(int=2)
"""The replica was in a directory that is offline now; it was never recorded which."""


class Endpoint(NamedTuple):
    name: str
    host: str
    port: int
    security_protocol: int


class SupportedVersions(NamedTuple):
    min: int
    max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionImage:
    replicas: tuple[int, ...]
    """In order of preference."""
    directories: tuple[uuid.UUID, ...]
    """The log directory of each replica, in the order of `replicas`."""
    isr: tuple[int, ...]
    leader: int
    """A member of `isr` (or one elected uncleanly), or NO_LEADER."""
    leader_epoch: int
    """Increases with every election."""
    partition_epoch: int
    """Increases with every change, elections included."""
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = 0
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    @classmethod
    def of(cls, record: PartitionRecord) -> "PartitionImage":
        return cls(
            replicas=record.replicas,
            directories=_directories(record.directories, len(record.replicas)),
            isr=record.isr,
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            removing_replicas=record.removing_replicas,
            adding_replicas=record.adding_replicas,
            leader_recovery_state=record.leader_recovery_state,
            eligible_leader_replicas=record.eligible_leader_replicas or (),
            last_known_elr=record.last_known_elr or (),
        )

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER

    @property
    def preferred_replica(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    def directory_of(self, broker_id: int) -> uuid.UUID:
        return self.directories[self.replicas.index(broker_id)]

    def merge(self, change: PartitionChangeRecord) -> "PartitionImage":
        """A record with a leader starts a new leader epoch, even if it is the same; any record a partition epoch."""
        replicas = self.replicas if change.replicas is None else change.replicas
        directories: tuple[uuid.UUID | None, ...] = self.directories
        if change.directories is not None:
            directories = change.directories
        elects = change.leader != NO_LEADER_CHANGE
        return replace(
            self,
            replicas=replicas,
            directories=_directories(directories, len(replicas)),
            isr=self.isr if change.isr is None else change.isr,
            leader=change.leader if elects else self.leader,
            leader_epoch=self.leader_epoch + 1 if elects else self.leader_epoch,
            partition_epoch=self.partition_epoch + 1,
            removing_replicas=_or(change.removing_replicas, self.removing_replicas),
            adding_replicas=_or(change.adding_replicas, self.adding_replicas),
            leader_recovery_state=(
                self.leader_recovery_state if change.leader_recovery_state == -1 else change.leader_recovery_state
            ),
            eligible_leader_replicas=_or(change.eligible_leader_replicas, self.eligible_leader_replicas),
            last_known_elr=_or(change.last_known_elr, self.last_known_elr),
        )


def _or(changed: tuple[int, ...] | None, current: tuple[int, ...]) -> tuple[int, ...]:
    return current if changed is None else changed


def _directories(recorded: tuple[uuid.UUID | None, ...], replica_count: int) -> tuple[uuid.UUID, ...]:
    """One directory per replica; MIGRATING for all if none is recorded."""
    if all(directory is None or directory == DIRECTORY_MIGRATING for directory in recorded):
        return (DIRECTORY_MIGRATING,) * replica_count
    if len(recorded) != replica_count:
        raise ValueError(f"{len(recorded)} directories for {replica_count} replicas")
    return tuple(directory or DIRECTORY_MIGRATING for directory in recorded)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicImage:
    id: uuid.UUID
    name: str
    partitions: Mapping[int, PartitionImage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsImage:
    """The same topics under both keys."""

    by_id: Mapping[uuid.UUID, TopicImage] = field(default_factory=dict)
    by_name: Mapping[str, TopicImage] = field(default_factory=dict)

    def partition(self, topic: str, partition: int) -> PartitionImage | None:
        found = self.by_name.get(topic)
        return None if found is None else found.partitions.get(partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerImage:
    id: int
    epoch: int
    """The offset of the registration record: a later registration has a higher one."""
    incarnation_id: uuid.UUID | None = None
    endpoints: tuple[Endpoint, ...] = ()
    features: Mapping[str, SupportedVersions] = field(default_factory=dict)
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    directories: tuple[uuid.UUID, ...] = ()
    cordoned_directories: tuple[uuid.UUID, ...] | None = None
    """Directories that get no new partitions. None: the broker has not reported them yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerImage:
    id: int
    incarnation_id: uuid.UUID | None = None
    endpoints: tuple[Endpoint, ...] = ()
    features: Mapping[str, SupportedVersions] = field(default_factory=dict)


_NO_CONFIGS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigsImage:
    """Dynamic configs only: no defaults."""

    by_resource: Mapping[tuple[int, str], Mapping[str, str]] = field(default_factory=dict)

    def of(self, resource_type: int, name: str) -> Mapping[str, str]:
        return self.by_resource.get((resource_type, name), _NO_CONFIGS)


QuotaKey = tuple[tuple[str, str | None], ...]
"""Entity types and names, sorted by type: (("client-id", "c"), ("user", None))."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessImage:
    """ACLs, credentials, tokens and quotas as they were recorded; other rooms enforce them."""

    acls: Mapping[uuid.UUID, AccessControlEntryRecord] = field(default_factory=dict)
    scram_credentials: Mapping[tuple[str, int], UserScramCredentialRecord] = field(default_factory=dict)
    """By user and mechanism."""
    delegation_tokens: Mapping[str, DelegationTokenRecord] = field(default_factory=dict)
    client_quotas: Mapping[QuotaKey, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterImage:
    topics: TopicsImage = field(default_factory=TopicsImage)
    brokers: Mapping[int, BrokerImage] = field(default_factory=dict)
    controllers: Mapping[int, ControllerImage] = field(default_factory=dict)
    configs: ConfigsImage = field(default_factory=ConfigsImage)
    features: Mapping[str, int] = field(default_factory=dict)
    """Finalised levels; features with level 0 are absent."""
    next_producer_id: int = 0
    access: AccessImage = field(default_factory=AccessImage)
    open_transaction: tuple[MetadataRecord, ...] | None = None
    """Records of a metadata transaction that has not ended yet, and may be aborted."""
    offset: int = -1
    """The last offset of the metadata log that this image contains."""
    epoch: int = -1
    """The epoch of the record at `offset`."""


EMPTY_IMAGE: Final = ClusterImage()
