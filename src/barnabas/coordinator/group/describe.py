"""Groups as administrators see them: describe, list, delete."""

from collections.abc import Iterable, Iterator, Sequence

from barnabas.coordinator.decision import Decision
from barnabas.coordinator.group.states import DEAD, EMPTY, STABLE
from barnabas.coordinator.group.store import GroupStore
from barnabas.coordinator.group.stored import GroupRecord, OffsetRecord
from barnabas.wire.errors import ErrorCode, GroupIdNotFound, NonEmptyGroup
from barnabas.wire.messages.delete_groups import DeletableGroupResult
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from barnabas.wire.messages.list_groups import ListedGroup

GROUP_TYPE = "classic"


def describe_group(store: GroupStore, group_id: str) -> DescribedGroup:
    group = store.groups.get(group_id)
    if group is None:
        is_other = group_id in store.modern
        return DescribedGroup(
            group_id=group_id,
            group_state=DEAD.value,
            error_code=GroupIdNotFound.code,
            error_message=f"Group {group_id} is not a classic group." if is_other else f"Group {group_id} not found.",
        )
    # The protocol is decided only once the group is stable.
    protocol = group.protocol if group.state is STABLE else None
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=tuple(
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client.client_id,
                client_host=member.client.client_host,
                member_metadata=b"" if protocol is None else member.protocols[protocol],
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ),
    )


def list_groups(store: GroupStore, states: Iterable[str], types: Iterable[str]) -> list[ListedGroup]:
    """An empty filter matches everything; case does not matter."""
    wanted_states = {state.lower() for state in states}
    wanted_types = {kind.lower() for kind in types}
    return [
        listed
        for listed in _all_groups(store)
        if (not wanted_types or listed.group_type in wanted_types)
        and (not wanted_states or listed.group_state.lower() in wanted_states)
    ]


def _all_groups(store: GroupStore) -> Iterator[ListedGroup]:
    for group in store.groups.values():
        yield ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=GROUP_TYPE,
        )
    for modern in store.modern.values():
        yield ListedGroup(
            group_id=modern.group_id,
            protocol_type=modern.protocol_type,
            group_state=modern.state_name,
            group_type=modern.kind,
        )


def decide_delete_groups(store: GroupStore, group_ids: Sequence[str]) -> Decision[list[DeletableGroupResult]]:
    results: list[DeletableGroupResult] = []
    decision: Decision[list[DeletableGroupResult]] = Decision(results, atomic=False)
    for group_id in dict.fromkeys(group_ids):
        group, modern = store.groups.get(group_id), store.modern.get(group_id)
        error = ErrorCode.none
        if group is None and modern is None:
            error = GroupIdNotFound.code
        elif (group is not None and group.state is not EMPTY) or (modern is not None and modern.members):
            error = NonEmptyGroup.code
        else:
            for topic, partitions in store.offsets.get(group_id, {}).items():
                decision.records += [OffsetRecord(group_id, topic, partition, None) for partition in partitions]
            for topic, partition in store.pending_offsets.places(group_id):
                if partition not in store.offsets.get(group_id, {}).get(topic, ()):
                    decision.records.append(OffsetRecord(group_id, topic, partition, None))
            decision.records += [GroupRecord(group_id, None)] if modern is None else modern.removal_records()
        results.append(DeletableGroupResult(group_id=group_id, error_code=error))
    return decision
