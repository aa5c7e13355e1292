"""Before Spark starts: are the broker and the topics there, and do the outputs' topics belong to this version?

One connection and a handful of requests; a mistake is told within seconds, not after Spark has come up.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError, Refused
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.client.properties import client_settings
from barnabas.pipeline.driver.claims import Claims
from barnabas.pipeline.project.model import Project, Source
from barnabas.spark.errors import UserError
from barnabas.spark.options.kafka import source_properties
from barnabas.spark.options.names import nearest
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

PATIENCE_S: Final = 10.0
"""Long enough for a broker that is just starting, short enough for a person who mistyped its address."""
_BROKERS_DEFAULT: Final = -1


@dataclass(frozen=True)
class Wanted:
    """An output topic."""

    topic: str
    writer: str
    """The flow, in words."""
    partitions_like: tuple[str, ...]
    """Topics it is made from: it gets as many partitions as the largest of them."""
    has_written: bool
    """Whether the checkpoint says that rows were written already."""
    is_shared: bool = False
    """Other versions write to it as well, as to the dead letters' topic."""


@contextmanager
def connected(project: Project) -> Iterator[Cluster]:
    """The log; what it answers, or that it does not, in words."""
    try:
        settings = client_settings(source_properties(project.log.spark_options()))
        with Cluster(settings, retry_for_s=PATIENCE_S) as cluster:
            yield cluster
    except ClientError as error:
        hint = error.hint or "look at the broker's log"
        raise UserError(f"the log at {project.log.bootstrap} does not serve: {error.message}", hint) from error


def check_sources(cluster: Cluster, sources: Iterable[Source]) -> None:
    """Every source's topic is there."""
    wanted = {source.topic: source.name for source in sources}
    missing = [topic for topic in wanted if topic not in cluster.topics(wanted)]
    if not missing:
        return
    known = [name for name in cluster.topics() if not name.startswith("__")]
    told = "\n".join(f"there is no topic `{topic}`, which source `{wanted[topic]}` reads" for topic in missing)
    guess = nearest(missing[0], known)
    create = f"barnabas topic create {' '.join(missing)}"
    raise UserError(told, f"did you mean `{guess}`? otherwise create it: {create}" if guess else f"create it: {create}")


def check_outputs(cluster: Cluster, wanted: Iterable[Wanted], claims: Claims) -> None:
    """Refuse topics with records of somebody else, and topics that are not there any more."""
    outputs = [each for each in wanted if not each.is_shared]
    there = cluster.topics(each.topic for each in outputs)
    for each in outputs:
        _check(cluster, each, there.get(each.topic), claims.topics.get(each.topic))


def create_outputs(cluster: Cluster, wanted: Iterable[Wanted], claims: Claims) -> list[str]:
    """Make topics that are missing, and note all of them in `claims`; the names of new ones."""
    outputs = list(wanted)
    names = {each.topic for each in outputs} | {name for each in outputs for name in each.partitions_like}
    there = cluster.topics(names)
    made = [each for each in outputs if each.topic not in there]
    if made:
        _create(cluster, made, there)
        there = cluster.topics(each.topic for each in outputs)
    for each in outputs:
        if not each.is_shared and each.topic in there:
            claims.topics[each.topic] = str(there[each.topic].topic_id)
    return [each.topic for each in made]


def _check(cluster: Cluster, wanted: Wanted, found: Any | None, claimed: str | None) -> None:
    if claimed is not None and wanted.has_written and (found is None or str(found.topic_id) != claimed):
        raise UserError(
            f"the topic `{wanted.topic}`, to which {wanted.writer} has written, "
            + ("is gone" if found is None else "was deleted and made again"),
            "write all rows again, into a new topic: barnabas pipeline replay --as NAME; or go on with new rows only: "
            "barnabas pipeline run --into-existing",
        )
    if found is not None and str(found.topic_id) != claimed and not _is_empty(cluster, found):
        raise UserError(
            f"the topic `{wanted.topic}`, to which {wanted.writer} writes, has records that it did not write",
            f"give the output another topic; or remove this one: barnabas topic delete {wanted.topic}; or write behind "
            "what is there: barnabas pipeline run --into-existing",
        )


def _is_empty(cluster: Cluster, topic: Any) -> bool:
    places = [(topic.name, partition.partition_index) for partition in topic.partitions]
    starts, ends = cluster.offsets(places, EARLIEST), cluster.offsets(places, LATEST)
    return all(starts[place].offset == ends[place].offset for place in places)


def _create(cluster: Cluster, wanted: Iterable[Wanted], there: Mapping[str, Any]) -> None:
    topics = tuple(
        CreatableTopic(
            name=each.topic,
            num_partitions=max((len(there[name].partitions) for name in each.partitions_like), default=-1),
            replication_factor=_BROKERS_DEFAULT,
        )
        for each in wanted
    )
    answer = cluster.call("create_topics", CreateTopicsRequest(topics=topics))
    for made in answer.topics:
        if made.error_code not in (ErrorCode.none, ErrorCode.topic_already_exists):
            raise Refused(
                made.error_code,
                f"the topic {made.name} cannot be made: {made.error_message or made.error_code.name.upper()}",
                f"have it made by somebody who may: barnabas topic create {made.name}",
            )
