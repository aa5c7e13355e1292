"""Which sources a running query has, and with which options, read from its plan in the JVM.

Progress shows a Python source by the name of its class and nothing else, and what is in its offsets is written to
checkpoints, logs and the web interface: no place for passwords. The analysed plan has the options as the user gave
them. Its streaming leaves, each counted once, stand in the order in which progress lists the sources.

This looks behind PySpark's public face (`StreamExecution.analyzedPlan`), in this one place.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

FORMAT = "barnabas"
_PREFIX = "kafka."
_GROUP_ID = "group.id"


class PlannedSource(NamedTuple):
    """A source of any kind. `options` are empty where it is none of ours."""

    format: str
    options: Mapping[str, str]

    @property
    def is_ours(self) -> bool:
        return self.format.lower() == FORMAT

    @property
    def client_properties(self) -> dict[str, str]:
        """Kafka's names, as the client takes them. Spark's options know no case, and Kafka's are all lower."""
        lower = {name.lower(): value for name, value in self.options.items()}
        return {name.removeprefix(_PREFIX): value for name, value in lower.items() if name.startswith(_PREFIX)}

    @property
    def group_id(self) -> str | None:
        return self.client_properties.get(_GROUP_ID) or None


def planned_sources(query: "StreamingQuery") -> list[PlannedSource]:
    """In the order of `progress.sources`."""
    leaves: list[Any] = []
    for leaf in _leaves(query._jsq.streamingQuery().analyzedPlan()):
        # A frame that is used twice in a query is one source: Spark compares relations, and so do we.
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
