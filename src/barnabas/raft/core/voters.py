"""Voters. A replica is identified by node id and log directory id, so that a replaced disk is a new replica."""

import uuid
from dataclasses import dataclass
from typing import NamedTuple


class ReplicaKey(NamedTuple):
    id: int
    directory_id: uuid.UUID


class VoterEndpoint(NamedTuple):
    name: str
    host: str
    port: int


class Voter(NamedTuple):
    key: ReplicaKey
    endpoints: tuple[VoterEndpoint, ...]


@dataclass(frozen=True, slots=True)
class VoterSet:
    voters: tuple[Voter, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(voter.key.id for voter in self.voters)

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def __contains__(self, key: ReplicaKey) -> bool:
        return any(voter.key == key for voter in self.voters)
