"""What an assignor is given and what it gives back.

An assignor is a pure function of `GroupSpec`. It may run in a worker: nothing in a spec changes after it was made.
"""

import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple

from barnabas.coordinator.group.modern.partitions import Partitions


class MemberSpec(NamedTuple):
    topic_ids: frozenset[uuid.UUID]
    """What it subscribes to, as far as it exists."""
    target: Partitions
    """What it was to have so far."""
    instance_id: str | None = None
    rack_id: str | None = None


class GroupSpec(NamedTuple):
    members: Mapping[str, MemberSpec]
    is_homogeneous: bool
    """Whether all members subscribe to the same topics."""
    partition_counts: Mapping[uuid.UUID, int]
    """Of every topic that a member subscribes to."""

    @property
    def size(self) -> int:
        """How much there is to do, in partitions. A member costs as much as 20: it may need a record of its own."""
        return sum(self.partition_counts.values()) + 20 * len(self.members)


Assignor = Callable[[GroupSpec], Mapping[str, Partitions]]
"""A member that gets nothing may be missing from the result."""
