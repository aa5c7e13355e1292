"""The pointer of a pipeline: which version of its flows readers see. One record in `barnabas.spark.metadata_topic`.

A pipeline may run in several versions at once, each with its own topics and tables. The pointer says which of them
readers see. It is a single record, so it moves atomically, for all flows at once.
"""

import datetime
import json
from collections.abc import Mapping
from typing import Final

import msgspec

from barnabas.client.cluster import Cluster
from barnabas.client.offsets import LATEST
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.spark import metadata_topic
from barnabas.spark.errors import UserError
from barnabas.spark.options.names import nearest

FORMAT: Final = 1
LEFT_MAX: Final = 50
"""How many former topics are remembered for each flow."""
_KIND: Final = "pipeline\t"


class Target(msgspec.Struct, frozen=True, omit_defaults=True):
    """What readers of a flow see: a topic, or a table."""

    version: str
    topic: str | None = None
    table: str | None = None
    """Its path, as in the pipeline."""
    starts: dict[str, int] = {}
    """Of a topic: by partition, its end when the pointer was moved to it."""


class FormerTopic(msgspec.Struct, frozen=True):
    """A topic that the pointer was moved away from."""

    topic: str
    version: str
    at_ms: int
    ends: dict[str, int]
    """By partition: where readers that started in it should stop."""


class Pointer(msgspec.Struct, frozen=True):
    pipeline: str
    flows: dict[str, Target]
    switched_ms: int
    left: dict[str, list[FormerTopic]] = {}
    """By flow, the most recent last."""
    format: int = FORMAT

    def target(self, flow: str) -> Target:
        if flow not in self.flows:
            meant = nearest(flow, self.flows)
            raise UserError(
                f"The pipeline {self.pipeline} has no flow {flow} that can be read.",
                f"did you mean {meant}?" if meant else f"it has {', '.join(sorted(self.flows))}",
            )
        return self.flows[flow]

    def topic(self, flow: str) -> str:
        target = self.target(flow)
        if target.topic is None:
            raise UserError(
                f"The flow {flow} of the pipeline {self.pipeline} is a table, not a topic.",
                f'read it with barnabas.spark.table(spark, pipeline="{self.pipeline}", flow="{flow}", ...)',
            )
        return target.topic

    def former_topic(self, flow: str, topic: str) -> FormerTopic | None:
        """The last move away from this topic; None: there was none, or it is unknown."""
        found = [each for each in self.left.get(flow, ()) if each.topic == topic]
        return found[-1] if found else None


def find(cluster: Cluster, pipeline: str) -> Pointer | None:
    value = metadata_topic.read(cluster).get(_KIND + pipeline)
    return None if value is None else _decoded(pipeline, value)


def get(cluster: Cluster, pipeline: str) -> Pointer:
    """UserError if no pipeline of this name has ever run."""
    found = find(cluster, pipeline)
    if found is not None:
        return found
    known = [key.removeprefix(_KIND) for key in metadata_topic.read(cluster) if key.startswith(_KIND)]
    meant = nearest(pipeline, known)
    raise UserError(
        f"No pipeline {pipeline} has ever run on {cluster.settings.bootstrap_servers}.",
        f"did you mean {meant}?" if meant else "run it first (barnabas pipeline run), or correct the name",
    )


def write(writer: TransactionWriter, pointer: Pointer) -> None:
    """In the writer's transaction."""
    metadata_topic.write(writer, [(_KIND + pointer.pipeline, msgspec.json.encode(pointer))])


def version(cluster: Cluster) -> int:
    """A number that changes whenever a pointer may have changed: one small request instead of reading all."""
    if metadata_topic.TOPIC not in cluster.topics([metadata_topic.TOPIC]):
        return -1
    place = metadata_topic.TOPIC, 0
    return cluster.offsets([place], LATEST)[place].offset


def switched_error(pointer: Pointer, flow: str, left: FormerTopic) -> UserError:
    """The error for a reader that has reached the end of a former topic."""
    target = pointer.target(flow)
    at = datetime.datetime.fromtimestamp(left.at_ms / 1000, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
    if target.topic is None:
        where, hint = f"the table {target.table}", "read the table with barnabas.spark.table"
    else:
        where = f"the topic {target.topic}"
        new = json.dumps({target.topic: {name: target.starts[name] for name in sorted(target.starts, key=int)}})
        hint = (
            f"start it with a new checkpoint: it then reads {target.topic} from its beginning, with all rows as "
            f"{target.version} makes them; or, for what has come since the switch, with startingOffsets {new}"
        )
    return UserError(
        f"The pipeline {pointer.pipeline} was switched from {left.version} to {target.version} at {at} UTC: its flow "
        f"{flow} is now {where}. This query has read {left.topic} up to the switch.",
        hint,
    )


def _decoded(pipeline: str, value: bytes) -> Pointer:
    try:
        pointer = msgspec.json.decode(value, type=Pointer)
    except msgspec.MsgspecError as error:
        raise UserError(
            f"The pointer of the pipeline {pipeline} cannot be read: {error}.",
            "was it written by a newer version of barnabas? use that one",
        ) from None
    if pointer.format != FORMAT:
        raise UserError(
            f"The pointer of the pipeline {pipeline} has the unknown format {pointer.format}.",
            "use the version of barnabas that the pipeline runs with",
        )
    return pointer


def merged(old: Mapping[str, list[FormerTopic]], flow: str, left: FormerTopic) -> dict[str, list[FormerTopic]]:
    return {**old, flow: [*old.get(flow, []), left][-LEFT_MAX:]}
