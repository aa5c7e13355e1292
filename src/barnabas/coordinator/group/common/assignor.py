"""The input and the output of an assignor.

An assignor is a pure function of `GroupSpec`. It may run in a worker, so a spec is immutable.
"""

import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple

from barnabas.coordinator.group.common.partitions import Partitions


class MemberSpec(NamedTuple):
    topic_ids: frozenset[uuid.UUID]
    """The existing topics that it subscribes to."""
    target: Partitions
    """Its target assignment so far."""
    instance_id: str | None = None
    rack_id: str | None = None


class GroupSpec(NamedTuple):
    members: Mapping[str, MemberSpec]
    is_homogeneous: bool
    """Whether all members subscribe to the same topics."""
    partition_counts: Mapping[uuid.UUID, int]
    """Of every subscribed topic."""

    @property
    def size(self) -> int:
        """The amount of work, in partitions. A member counts as 20, since it may need a record of its own."""
        return sum(self.partition_counts.values()) + 20 * len(self.members)


Assignor = Callable[[GroupSpec], Mapping[str, Partitions]]
"""A member that gets nothing may be missing from the result."""
