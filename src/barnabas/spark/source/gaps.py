"""What lies between two offsets of a stream, and what should lie there and does not. Pure.

The batch from `start` to `end` is, in each partition, the range between the two. A partition that only `end` knows is
new and is read from its first record on; so is one whose topic was made again. Whatever was wanted and is not there is
a `Loss`; whether that stops the query is decided elsewhere.
"""

from collections.abc import Mapping

from barnabas.model import TopicPartition
from barnabas.spark.query.data_loss import Cause, Loss
from barnabas.spark.source.offsets import PartitionOffsets, StreamOffsets
from barnabas.spark.source.ranges import OffsetRange


def is_anew(place: TopicPartition, start: StreamOffsets, ids: Mapping[str, str]) -> bool:
    """Whether a batch that ends where topics have these ids begins at the partition's first record."""
    return place not in start.partitions or start.is_remade(place.topic, ids)


def vanished(start: StreamOffsets, latest: Mapping[TopicPartition, int], ids: Mapping[str, str]) -> list[Loss]:
    """What a query that stands at `start` misses in logs that end at `latest`."""
    losses = []
    for place, wanted in start.partitions.items():
        if place not in latest:
            losses.append(Loss(*place, wanted, None, Cause.GONE))
        elif start.is_remade(place.topic, ids):
            losses.append(Loss(*place, wanted, 0, Cause.REMADE))
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

    `looked_up` are the partitions whose first offset was asked for: those that begin anew, at least. `earliest` has the
    answers; one without an answer does not exist.
    """
    ranges: list[OffsetRange] = []
    losses = [
        Loss(*place, wanted, None, Cause.GONE)
        for place, wanted in start.partitions.items()
        if place not in end.partitions
    ]
    for place, until in end.partitions.items():
        anew = is_anew(place, start, end.ids)
        wanted = 0 if anew else start.partitions[place]
        if end.is_remade(place.topic, ids_now):
            # Planned before the topic was made again, and run afterwards: other records bear these offsets now.
            if wanted < until:
                losses.append(Loss(*place, wanted, None, Cause.REMADE, until))
            continue
        if anew and place in start.partitions:
            losses.append(Loss(*place, start.partitions[place], earliest.get(place), Cause.REMADE))
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
