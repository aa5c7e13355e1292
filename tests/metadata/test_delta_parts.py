"""A large change in parts is the same change."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.delta import Delta, PartitionChange
from barnabas.metadata.image import PartitionImage, TopicImage
from barnabas.model import TopicPartition

PARTITION = PartitionImage(
    replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0, directories=(uuid.UUID(int=1),)
)


def topic(name: str, partitions: int) -> TopicImage:
    return TopicImage(
        id=uuid.uuid5(uuid.NAMESPACE_DNS, name), name=name, partitions=dict.fromkeys(range(partitions), PARTITION)
    )


@given(st.lists(st.integers(0, 30), max_size=4), st.lists(st.integers(0, 30), max_size=4), st.booleans())
def test_parts_are_small_and_together_the_whole(deleted: list[int], changed: list[int], others: bool) -> None:
    gone = [topic(f"gone-{index}", count) for index, count in enumerate(deleted)]
    delta = Delta(
        topics_deleted={each.id: each for each in gone},
        partitions_changed={
            TopicPartition(f"new-{index}", number): PartitionChange(uuid.UUID(int=index), None, PARTITION)
            for index, count in enumerate(changed)
            for number in range(count)
        },
        configs_changed=frozenset({(2, "t")}) if others else frozenset(),
        access_changed=others,
    )
    parts = list(delta.parts(7))
    assert all(part.partition_count <= 7 for part in parts)
    assert delta.partition_count == sum(deleted) + sum(changed)

    dropped = [
        (each.name, index) for part in parts for each in part.topics_deleted.values() for index in each.partitions
    ]
    assert dropped == [(each.name, index) for each in gone for index in each.partitions]
    assert {each.name for part in parts for each in part.topics_deleted.values()} == {each.name for each in gone}
    hosted = [change for part in parts for change in part.partitions_changed.items()]
    assert hosted == list(delta.partitions_changed.items())
    deletions = [index for index, part in enumerate(parts) if part.topics_deleted]
    changes = [index for index, part in enumerate(parts) if part.partitions_changed]
    assert not deletions or not changes or deletions[-1] < changes[0]
    assert [part.access_changed for part in parts] == ([others] + [False] * (len(parts) - 1) if parts else [])
    assert bool(parts) == bool(delta)
