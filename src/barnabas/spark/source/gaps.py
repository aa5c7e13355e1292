"""The ranges between two offsets of a stream, and the records that are missing there. Pure functions.

The batch from `start` to `end` is, in each partition, the range between the two. A partition that is only in `end` is
new, and is read from its first record; so is one whose topic was created again. Missing records are reported as `Loss`;
whether that stops the query is decided elsewhere.
"""

from collections.abc import Mapping

from barnabas.model import TopicPartition
from barnabas.spark.query.data_loss import Cause, Loss
from barnabas.spark.source.offsets import PartitionOffsets, StreamOffsets
from barnabas.spark.source.ranges import OffsetRange


def is_new_partition(place: TopicPartition, start: StreamOffsets, ids: Mapping[str, str]) -> bool:
    """Whether the partition is new, or its topic was created again: then it is read from its first record."""
    return place not in start.partitions or start.is_another_topic(place.topic, ids)


def vanished(start: StreamOffsets, latest: Mapping[TopicPartition, int], ids: Mapping[str, str]) -> list[Loss]:
    """What a query at `start` misses in logs that end at `latest`."""
    losses = []
    for place, wanted in start.partitions.items():
        if place not in latest:
            losses.append(Loss(*place, wanted, None, Cause.GONE))
        elif start.is_another_topic(place.topic, ids):
            losses.append(Loss(*place, wanted, 0, Cause.RECREATED))
        elif latest[place] < wanted:
            losses.append(Loss(*place, wanted, latest[place], Cause.CUT_OFF))
    return losses


def ranges_between(
    start: StreamOffsets,
    end: StreamOffsets,
    *,
    ids_now: Mapping[str, str],
    looked_up: frozenset[TopicPartition],
    earliest: PartitionOffsets,
) -> tuple[list[OffsetRange], list[Loss]]:
    """What to read, and what is lost.

    `looked_up` are the partitions whose first offset was requested: at least the new ones. `earliest` has the answers;
    a partition without an answer does not exist.
    """
    ranges: list[OffsetRange] = []
    losses = [
        Loss(*place, wanted, None, Cause.GONE)
        for place, wanted in start.partitions.items()
        if place not in end.partitions
    ]
    for place, until in end.partitions.items():
        anew = is_new_partition(place, start, end.ids)
        wanted = 0 if anew else start.partitions[place]
        if end.is_another_topic(place.topic, ids_now):
            # Planned before the topic was created again, and run afterwards: other records have these offsets now.
            if wanted < until:
                losses.append(Loss(*place, wanted, None, Cause.RECREATED, until))
            continue
        if anew and place in start.partitions:
            losses.append(Loss(*place, start.partitions[place], earliest.get(place), Cause.RECREATED))
        if place in looked_up and place not in earliest:
            if wanted < until:
                losses.append(Loss(*place, wanted, None, Cause.GONE, until))
            continue
        begin = max(wanted, min(earliest.get(place, wanted), until))
        if wanted < begin:
            losses.append(Loss(*place, wanted, earliest[place], Cause.EXPIRED, until))
        if until < begin:
            losses.append(Loss(*place, wanted, until, Cause.CUT_OFF))
        if begin < until:
            ranges.append(OffsetRange(*place, begin, until, end.ids.get(place.topic)))
    return ranges, losses
