"""How far each query is behind, and whether its broker answers: as last measured by the watcher.

Spark cannot tell: a source whose broker is down retries for a minute, and Spark reports that as waiting for data.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.spark.query.views import QueryView


@dataclass(frozen=True)
class Backlog:
    lag: int
    """Records in the log that the query has not read yet, when the broker last answered."""
    unreachable: str | None
    """Why the broker did not answer the last time; None: it did."""


def backlogs(views: "Iterable[QueryView]") -> dict[str, Backlog]:
    """By the name of the query."""
    return {
        view.title: Backlog(
            lag=sum(source.lag for source in view.sources),
            unreachable=next((source.trouble for source in view.sources if source.trouble), None),
        )
        for view in views
        if view.sources
    }
