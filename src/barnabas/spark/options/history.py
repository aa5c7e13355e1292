"""The option `history`: what has to be known about a history before a read of it is planned."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.spark.errors import UserError
from barnabas.spark.options.positions import AtTimestamp, AtTimestamps, Position
from barnabas.spark.options.subscription import Pointed, Subscribe, SubscribePattern, Subscription
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
    """Those that new files of a topic get, by topic: what the log has is decoded to the same."""


def history_option(values: Values, subscription: Subscription, *positions: Position) -> HistoryOption | None:
    path = values.text(OPTION)
    if path is None:
        return None
    for position in positions:
        if isinstance(position, AtTimestamp | AtTimestamps):
            raise UserError(
                f"The option {position.option} asks the log, which does not know the times of its history.",
                "leave it out and filter the column timestamp: files without a wanted time are skipped",
            )
    if isinstance(subscription, Pointed):
        raise UserError(
            "The option history goes with subscribe or assign, not with a pipeline's flow.",
            "name the topic with subscribe (barnabas pipeline versions shows it)",
        )
    if isinstance(subscription, SubscribePattern):
        raise UserError(
            "With the option history, topics are named: it has columns of its own for each.",
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
            "leave the option out: with history, the log is read with read_committed too",
        )
    return {**properties, "isolation.level": "read_committed"}


def refuse_in_streams(values: Values) -> None:
    if values.has(OPTION):
        raise UserError(
            "A stream reads the log alone, but the option history is set.",
            "remove it; to go through the history first, read it as a batch, then start the stream at its "
            "tiered_through (barnabas archive status)",
        )
