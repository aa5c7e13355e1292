"""One member of a share group. Immutable: a changed member is a new object."""

from dataclasses import dataclass, field, replace
from typing import Final

from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.partitions import NO_PARTITIONS, Partitions, from_stored, to_stored
from barnabas.coordinator.group.share.stored import StoredShareAssignment, StoredShareMember

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
_UNKNOWN_CLIENT: Final = ClientInfo("", "")
_STABLE: Final = 0
"""The only member state that is stored for share groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareMember:
    member_id: str
    member_epoch: int = JOIN_EPOCH
    previous_member_epoch: int = -1
    """Accepted too: the answer with the current epoch may have been lost."""
    rack_id: str | None = None
    client: ClientInfo = _UNKNOWN_CLIENT
    subscribed_topic_names: frozenset[str] = frozenset()
    assigned: Partitions = field(default_factory=dict)

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.member_epoch == target_epoch

    def stored_metadata(self) -> StoredShareMember:
        return StoredShareMember(
            rack_id=self.rack_id,
            client_id=self.client.client_id,
            client_host=self.client.client_host,
            subscribed_topic_names=tuple(sorted(self.subscribed_topic_names)),
        )

    def with_metadata(self, stored: StoredShareMember) -> "ShareMember":
        return replace(
            self,
            rack_id=stored.rack_id,
            client=ClientInfo(stored.client_id, stored.client_host),
            subscribed_topic_names=frozenset(stored.subscribed_topic_names),
        )

    def stored_assignment(self) -> StoredShareAssignment:
        return StoredShareAssignment(
            member_epoch=self.member_epoch,
            previous_member_epoch=self.previous_member_epoch,
            state=_STABLE,
            assigned_partitions=to_stored(self.assigned),
        )

    def with_assignment(self, stored: StoredShareAssignment | None) -> "ShareMember":
        if stored is None:
            return replace(self, member_epoch=LEAVE_EPOCH, previous_member_epoch=LEAVE_EPOCH, assigned=NO_PARTITIONS)
        return replace(
            self,
            member_epoch=stored.member_epoch,
            previous_member_epoch=stored.previous_member_epoch,
            assigned=from_stored(stored.assigned_partitions),
        )
