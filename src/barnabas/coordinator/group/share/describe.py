"""A share group as ShareGroupDescribe returns it."""

from barnabas.coordinator.group.common.topics import TopicCatalog
from barnabas.coordinator.group.share.member import ShareMember
from barnabas.coordinator.group.share.replay import known_group
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import GroupIdNotFound
from barnabas.wire.messages.share_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

ASSIGNOR = "simple"


def describe_share_group(store: GroupStore, group_id: str) -> DescribedGroup:
    group = known_group(store, group_id)
    if group is None:
        is_other = store.group(group_id) is not None
        raise GroupIdNotFound(f"Group {group_id} is not a share group." if is_other else f"Group {group_id} not found.")
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.group_epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=ASSIGNOR,
        members=tuple(_member(store.catalog, member) for member in group.members.values()),
    )


def _member(catalog: TopicCatalog, member: ShareMember) -> Member:
    by_id = catalog.topics.by_id
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client.client_id,
        client_host=member.client.client_host,
        subscribed_topic_names=tuple(sorted(member.subscribed_topic_names)),
        assignment=Assignment(
            topic_partitions=tuple(
                TopicPartitions(topic_id=topic_id, topic_name=by_id[topic_id].name, partitions=tuple(sorted(indexes)))
                for topic_id, indexes in member.assigned.items()
                if topic_id in by_id
            )
        ),
    )
