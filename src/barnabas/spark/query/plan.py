"""The sources of a running query and their options, read from its plan in the JVM.

A query's progress only has the class name of a Python source, and offsets are written to checkpoints, logs and the web
interface: not a place for passwords. The analyzed plan has the options as the user gave them. Its streaming leaves,
each counted once, are in the same order as the sources in the progress.

This is the only place that uses a private API of Spark (`StreamExecution.analyzedPlan`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

FORMAT = "barnabas"
_PREFIX = "kafka."
_GROUP_ID = "group.id"


class PlannedSource(NamedTuple):
    """A source of any kind. `options` are empty if it is not ours."""

    format: str
    options: Mapping[str, str]

    @property
    def is_ours(self) -> bool:
        return self.format.lower() == FORMAT

    @property
    def client_properties(self) -> dict[str, str]:
        """For the client, with Kafka's names. Spark's options are case-insensitive, and Kafka's are lower case."""
        lower = {name.lower(): value for name, value in self.options.items()}
        return {name.removeprefix(_PREFIX): value for name, value in lower.items() if name.startswith(_PREFIX)}

    @property
    def group_id(self) -> str | None:
        return self.client_properties.get(_GROUP_ID) or None


def planned_sources(query: "StreamingQuery") -> list[PlannedSource]:
    """In the order of `progress.sources`."""
    leaves: list[Any] = []
    for leaf in _leaves(query._jsq.streamingQuery().analyzedPlan()):
        # A DataFrame that is used twice in a query is one source: Spark compares relations, and so do we.
        if leaf.isStreaming() and not any(leaf.equals(known) for known in leaves):
            leaves.append(leaf)
    return [_planned(leaf) for leaf in leaves]


def _leaves(plan: Any) -> list[Any]:
    found = plan.collectLeaves()
    return [found.apply(index) for index in range(found.size())]


def _planned(leaf: Any) -> PlannedSource:
    if leaf.getClass().getSimpleName() != "StreamingRelationV2":
        return PlannedSource(leaf.nodeName(), {})
    name = str(leaf.sourceName())
    if name.lower() != FORMAT:
        return PlannedSource(name, {})
    return PlannedSource(name, {str(key): str(value) for key, value in dict(leaf.extraOptions()).items()})
