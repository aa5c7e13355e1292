"""Share groups in `barnabas group`. librdkafka's admin client lacks them, so `wire_client` is used."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from barnabas.cli.cluster_access import ClusterAccess
from barnabas.cli.kafka.share_requests import (
    alter_share_offsets,
    describe_share_group,
    list_share_groups,
    share_offsets,
)
from barnabas.cli.offset_reset import Change
from barnabas.cli.output import plural
from barnabas.cli.wire_client import Cluster

SHARE = "share"


class SharePartitionView(NamedTuple):
    topic: str
    partition: int
    start: int | None
    """All records before it are done."""
    lag: int | None


class ShareGroupView(NamedTuple):
    group: str
    type: str
    state: str
    coordinator: int
    members: int
    partitions: list[SharePartitionView]

    @property
    def lag(self) -> int | None:
        known = [partition.lag for partition in self.partitions if partition.lag is not None]
        return sum(known) if known else None

    def headline(self) -> str:
        lag = "nothing read" if self.lag is None else f"lag {self.lag:,}"
        return f"Group {self.group}: share group, {self.state}, {plural(self.members, 'member')}, {lag}"

    def as_object(self) -> dict[str, object]:
        return {
            **self._asdict(),
            "lag": self.lag,
            "partitions": [partition._asdict() for partition in self.partitions],
        }


class ShareGroups:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._listed: dict[str, str] | None = None

    @property
    def states(self) -> dict[str, str]:
        """By name."""
        if self._listed is None:
            listed = list_share_groups(self._cluster)
            self._listed = {group.group_id: group.group_state.lower() for group in listed}
        return self._listed

    def rows(self) -> list[dict[str, str]]:
        """As `group list` shows them."""
        return [{"group": name, "state": state, "type": SHARE} for name, state in self.states.items()]

    def __contains__(self, name: object) -> bool:
        return name in self.states

    def describe(self, name: str) -> ShareGroupView:
        group = describe_share_group(self._cluster, name)
        return ShareGroupView(
            group=name,
            type=SHARE,
            state=group.state.lower(),
            coordinator=group.coordinator.node_id,
            members=len(group.members),
            partitions=[
                SharePartitionView(topic, index, found.start_offset, found.lag)
                for (topic, index), found in sorted(share_offsets(self._cluster, name).items())
            ],
        )

    def starts(self, name: str) -> dict[tuple[str, int], int]:
        offsets = share_offsets(self._cluster, name)
        return {place: found.start_offset for place, found in offsets.items() if found.start_offset is not None}

    def reset(self, name: str, changes: Sequence[Change]) -> None:
        alter_share_offsets(self._cluster, name, {(each.topic, each.partition): each.new for each in changes})


@contextmanager
def share_groups(access: ClusterAccess) -> Iterator[ShareGroups]:
    with Cluster.to(access) as cluster:
        yield ShareGroups(cluster)
