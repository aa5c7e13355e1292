"""Voters. A replica is identified by node id and log directory id, so that a replaced disk is a new replica.

Voters of kraft.version 0 come from the configuration, which knows no directories: there the node id is enough.
"""

import uuid
from typing import Final, NamedTuple

from msgspec import Struct

NO_DIRECTORY: Final = uuid.UUID(int=0)


class ReplicaKey(NamedTuple):
    id: int
    directory_id: uuid.UUID = NO_DIRECTORY

    def matches(self, other: "ReplicaKey") -> bool:
        """Whether `other` is this replica. A key without a directory stands for every directory of its node."""
        return self.id == other.id and self.directory_id in (NO_DIRECTORY, other.directory_id)


class VoterEndpoint(NamedTuple):
    name: str
    host: str
    port: int


Endpoints = tuple[VoterEndpoint, ...]


class VersionRange(NamedTuple):
    min: int
    max: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.min <= version <= self.max


class Voter(NamedTuple):
    key: ReplicaKey
    endpoints: Endpoints
    kraft_versions: VersionRange = VersionRange(0, 1)
    """Of the feature kraft.version, as this voter supports it."""


class VoterSet(Struct, frozen=True):
    voters: tuple[Voter, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(voter.key.id for voter in self.voters)

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def __contains__(self, key: ReplicaKey) -> bool:
        return any(voter.key.matches(key) for voter in self.voters)

    def find(self, voter_id: int) -> Voter | None:
        return next((voter for voter in self.voters if voter.key.id == voter_id), None)

    def endpoints(self, voter_id: int) -> Endpoints:
        voter = self.find(voter_id)
        return () if voter is None else voter.endpoints

    def is_only(self, key: ReplicaKey) -> bool:
        return len(self.voters) == 1 and key in self

    def with_voter(self, added: Voter) -> "VoterSet":
        """Added, or replaced if a voter has its id; ordered by id, as Kafka writes them."""
        others = (voter for voter in self.voters if voter.key.id != added.key.id)
        return VoterSet(tuple(sorted((*others, added), key=lambda voter: voter.key.id)))

    def without(self, key: ReplicaKey) -> "VoterSet":
        return VoterSet(tuple(voter for voter in self.voters if voter.key != key))
