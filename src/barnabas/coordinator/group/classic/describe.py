"""A classic group as DescribeGroups returns it."""

from barnabas.coordinator.group.classic.states import STABLE
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import GroupIdNotFound
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember


def describe_classic_group(store: GroupStore, group_id: str) -> DescribedGroup:
    group = store.groups.get(group_id)
    if group is None:
        is_other = group_id in store.modern
        raise GroupIdNotFound(
            f"Group {group_id} is not a classic group." if is_other else f"Group {group_id} not found."
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
