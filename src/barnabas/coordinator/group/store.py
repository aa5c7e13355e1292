"""The state of one partition of __consumer_offsets: what is in the log, and what is in memory only.

Durable, changed only by `replay`: `stored_groups`, `modern`, `offsets` and `pending_offsets`. In memory only, changed
by decisions: `groups` with their members' parked requests, and `timers`. The in-memory state of a classic group is
ahead of its stored one (see `classic.group`), so replaying its metadata does not change it; a tombstone removes it, and
an offset committed to an unknown group creates one without members. Modern groups (consumer groups of KIP-848, share
groups) have only durable state.

A group id is in `groups` or in `modern`, never in both: the last record in the log decides.
"""

import base64
import uuid
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from barnabas.coordinator.core.decision import Decision
from barnabas.coordinator.core.timers import Timers
from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.classic.sessions import discard
from barnabas.coordinator.group.classic.stored import StoredGroup
from barnabas.coordinator.group.common.configs import GroupConfigs
from barnabas.coordinator.group.common.modern_group import ModernGroup
from barnabas.coordinator.group.common.record_format import TEXT_BYTES_MAX
from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.coordinator.group.common.topics import TopicCatalog
from barnabas.coordinator.group.offsets.pending import PendingOffsets
from barnabas.coordinator.group.offsets.stored import NO_TIMESTAMP, CommittedOffset
from barnabas.metadata.image import EMPTY_IMAGE
from barnabas.wire.errors import UnknownMemberId

# A member id begins with the client id, and must fit into a stored record even with multi-byte characters.
PREFIX_CHARACTERS_MAX = TEXT_BYTES_MAX // 4 - 40

OffsetsByTopic = dict[str, dict[int, CommittedOffset]]


class GroupStore:
    def __init__(
        self,
        settings: GroupSettings,
        random_bytes: Callable[[int], bytes],
        catalog: TopicCatalog | None = None,
        configs: GroupConfigs | None = None,
    ) -> None:
        self.settings = settings
        self.configs = GroupConfigs(settings) if configs is None else configs
        self.catalog = TopicCatalog(lambda: EMPTY_IMAGE) if catalog is None else catalog
        self._random_bytes = random_bytes
        self.stored_groups: dict[str, StoredGroup] = {}
        self.offsets: dict[str, OffsetsByTopic] = {}
        self.pending_offsets = PendingOffsets()
        self.groups: dict[str, ClassicGroup] = {}
        self.modern: dict[str, ModernGroup[Any]] = {}
        self.timers = Timers()
        self.jobs: set[Hashable] = set()
        """In memory only, changed by the shell: the keys of running jobs."""

    def group(self, group_id: str) -> ClassicGroup | ModernGroup[Any] | None:
        """Of any type."""
        return self.groups.get(group_id) or self.modern.get(group_id)

    def all_groups(self) -> Iterator[ClassicGroup | ModernGroup[Any]]:
        yield from self.groups.values()
        yield from self.modern.values()

    # --- durable

    def put_modern(self, group: ModernGroup[Any]) -> None:
        """The group is a modern one from now on. A classic one of the same id is removed."""
        self.stored_groups.pop(group.group_id, None)
        self.end(group.group_id)
        self.modern[group.group_id] = group

    def remove_modern(self, group_id: str) -> None:
        is_needed = group_id in self.offsets or group_id in self.pending_offsets
        if self.modern.pop(group_id, None) is not None and is_needed:
            self.groups.setdefault(group_id, ClassicGroup(group_id, NO_TIMESTAMP))

    def ensure_group(self, group_id: str) -> None:
        if group_id not in self.groups and group_id not in self.modern:
            self.groups[group_id] = ClassicGroup(group_id, NO_TIMESTAMP)

    # --- in memory only

    def new_member_id(self, prefix: str) -> str:
        return f"{prefix[:PREFIX_CHARACTERS_MAX]}-{uuid.UUID(bytes=self._random_bytes(16), version=4)}"

    def new_modern_member_id(self) -> str:
        """Like Kafka's: a random UUID in 22 characters."""
        return base64.urlsafe_b64encode(self._random_bytes(16)).decode().rstrip("=")

    def end(self, group_id: str) -> None:
        """Only empty groups are deleted, so there are no parked requests. Pending member ids become unknown."""
        group = self.groups.get(group_id)
        if group is not None:
            discard(
                self, group, UnknownMemberId(f"group {group_id} was deleted"), group.state_timestamp_ms, Decision(None)
            )
