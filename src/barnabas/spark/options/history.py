"""The option `history`: checked, and its manifests loaded, before a read is planned."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.spark.errors import UserError
from barnabas.spark.options.positions import AtTimestamp, AtTimestamps, Position
from barnabas.spark.options.subscription import PipelineFlow, Subscribe, SubscribePattern, Subscription
from barnabas.spark.options.values import Values

if TYPE_CHECKING:
    from barnabas.history.declared import Column

OPTION = "history"


@dataclass(frozen=True, slots=True)
class HistoryOption:
    path: str
    typed: "tuple[Column, ...]"
    """The typed columns of all files together."""
    current: "dict[str, tuple[Column, ...]]"
    """By topic, the columns of its new files: records of the log are decoded to the same columns."""


def history_option(values: Values, subscription: Subscription, *positions: Position) -> HistoryOption | None:
    path = values.text(OPTION)
    if path is None:
        return None
    for position in positions:
        if isinstance(position, AtTimestamp | AtTimestamps):
            raise UserError(
                f"The option {position.option} cannot be used with history: brokers do not know the times "
                "of archived records.",
                "remove it and filter the column timestamp: files without matching records are skipped",
            )
    if isinstance(subscription, PipelineFlow):
        raise UserError(
            "The option history works with subscribe and assign, not with a pipeline's flow.",
            "name the topic with subscribe (barnabas pipeline versions shows it)",
        )
    if isinstance(subscription, SubscribePattern):
        raise UserError(
            "The option history does not work with subscribePattern: each topic has its own columns.",
            "use subscribe, or assign",
        )
    from barnabas.history.declared import merged, parse
    from barnabas.history.errors import HistoryError
    from barnabas.history.manifest import load

    topics = (
        subscription.topics
        if isinstance(subscription, Subscribe)
        else sorted({place.topic for place in subscription.partitions})
    )
    try:
        manifests = {topic: load(path, topic) for topic in topics}
        typed = merged([schema for manifest in manifests.values() for schema in manifest.schemas])
        current = {topic: parse(one.declared) if one.declared else () for topic, one in manifests.items()}
        return HistoryOption(path, typed, current)
    except HistoryError as failure:
        raise UserError(f"{failure.message}.", failure.hint) from failure


def committed_only(properties: dict[str, str], history: HistoryOption | None) -> dict[str, str]:
    """A history has committed records only; the live part of a read must not have others."""
    if history is None:
        return properties
    if properties.get("isolation.level", "read_committed").lower() != "read_committed":
        raise UserError(
            "A history has committed records only, but kafka.isolation.level is read_uncommitted.",
            "remove kafka.isolation.level: with history, the log is read with read_committed, too",
        )
    return {**properties, "isolation.level": "read_committed"}


def refuse_in_streams(values: Values) -> None:
    if values.has(OPTION):
        raise UserError(
            "A stream reads only the log, but the option history is set.",
            "remove it; to process the history first, read it as a batch, then start the stream at its "
            "tiered_through (barnabas archive status)",
        )
