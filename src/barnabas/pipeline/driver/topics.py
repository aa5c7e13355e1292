"""Checks before Spark starts: do the source topics exist, and do the output topics belong to this version?

One connection and a handful of requests, so that a mistake is found within seconds, not after Spark has started.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from barnabas.client.cluster import Cluster
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.client.topic_creation import create_topics
from barnabas.pipeline.project.model import Source
from barnabas.spark.errors import UserError
from barnabas.spark.options.names import nearest


@dataclass(frozen=True)
class OutputTopic:
    """An output topic."""

    topic: str
    writer: str
    """The flow, for messages."""
    partitions_like: tuple[str, ...]
    """The topics that its flow reads: it gets as many partitions as the largest of them."""
    has_written: bool
    """Whether the checkpoint says that rows were written already."""
    is_shared: bool = False
    """Other versions write to it as well, as to the dead letters' topic."""


class CreatedTopics(NamedTuple):
    new: list[str]
    ids: Mapping[str, str]
    """Of all topics that are not shared, the new ones and the others."""


def check_sources(cluster: Cluster, sources: Iterable[Source]) -> None:
    """Refuse to run if the topic of a source does not exist."""
    wanted = {source.topic: source.name for source in sources}
    missing = [topic for topic in wanted if topic not in cluster.topics(wanted)]
    if not missing:
        return
    known = [name for name in cluster.topics() if not name.startswith("__")]
    message = "\n".join(f"there is no topic `{topic}`, which source `{wanted[topic]}` reads" for topic in missing)
    guess = nearest(missing[0], known)
    create = f"barnabas topic create {' '.join(missing)}"
    raise UserError(
        message, f"did you mean `{guess}`? if not, create it: {create}" if guess else f"create it: {create}"
    )


def check_outputs(cluster: Cluster, wanted: Iterable[OutputTopic], claimed: Mapping[str, str]) -> None:
    """Refuse topics that have other records, and topics that no longer exist. `claimed`: ids, by topic."""
    outputs = [each for each in wanted if not each.is_shared]
    there = cluster.topics(each.topic for each in outputs)
    for each in outputs:
        _check(cluster, each, there.get(each.topic), claimed.get(each.topic))


def create_outputs(cluster: Cluster, wanted: Iterable[OutputTopic]) -> CreatedTopics:
    """Create those that are missing."""
    outputs = list(wanted)
    names = {each.topic for each in outputs} | {name for each in outputs for name in each.partitions_like}
    there = cluster.topics(names)
    made = [each for each in outputs if each.topic not in there]
    if made:
        create_topics(
            cluster,
            [
                (each.topic, max((len(there[name].partitions) for name in each.partitions_like), default=-1))
                for each in made
            ],
        )
        there = cluster.topics(each.topic for each in outputs)
    ids = {
        each.topic: str(there[each.topic].topic_id) for each in outputs if not each.is_shared and each.topic in there
    }
    return CreatedTopics([each.topic for each in made], ids)


def _check(cluster: Cluster, wanted: OutputTopic, found: Any | None, claimed: str | None) -> None:
    if claimed is not None and wanted.has_written and (found is None or str(found.topic_id) != claimed):
        raise UserError(
            f"the topic `{wanted.topic}`, to which {wanted.writer} has written, "
            + ("no longer exists" if found is None else "was deleted and created again"),
            "write all rows again, into a new topic: barnabas pipeline replay --as NAME; or write new rows only: "
            "barnabas pipeline run --into-existing",
        )
    if found is not None and str(found.topic_id) != claimed and not _is_empty(cluster, found):
        raise UserError(
            f"the topic `{wanted.topic}`, to which {wanted.writer} writes, has records that it did not write",
            f"give the output another topic; or remove this one: barnabas topic delete {wanted.topic}; or append to "
            "it: barnabas pipeline run --into-existing",
        )


def _is_empty(cluster: Cluster, topic: Any) -> bool:
    places = [(topic.name, partition.partition_index) for partition in topic.partitions]
    starts, ends = cluster.offsets(places, EARLIEST), cluster.offsets(places, LATEST)
    return all(starts[place].offset == ends[place].offset for place in places)
