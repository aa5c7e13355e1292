"""The options of a read, batch or streaming: those of Spark's Kafka connector, its defaults and its refusals.

A migration changes `.format("kafka")` to `.format("barnabas")` and nothing else. What goes beyond the connector:

- `columns`: build these columns only, as Spark does not tell a Python source which columns a query needs;
- `pushDownPredicate`: let filters on topic, partition, offset and timestamp narrow what is read (`source.batch_reader`
  says why this is not the default);
- `maxTimePerTrigger`: batches end at one timestamp in all partitions (`source.alignment` says why);
- `history`: batch reads begin in the Parquet files of a topic's history, and end in the log;
- unknown names are refused.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.spark.errors import UserError
from barnabas.spark.options.history import HistoryOption, committed_only, history_option, refuse_in_streams
from barnabas.spark.options.kafka import client_of, source_properties
from barnabas.spark.options.names import ENDING, STREAM_ONLY, check_source_names
from barnabas.spark.options.positions import Earliest, Latest, Position, check_batch, position
from barnabas.spark.options.subscription import PipelineFlow, Subscription, subscription
from barnabas.spark.options.values import INT_MAX, Values

if TYPE_CHECKING:
    from barnabas.client.settings import ClientSettings
    from barnabas.history.declared import Column

_log = logging.getLogger(__name__)

READ_UNCOMMITTED, READ_COMMITTED = 0, 1

_GROUP_PREFIX = "spark-kafka-source"

_POLL_TIMEOUT_MS = 120_000
"""The default of `spark.network.timeout`, which the connector uses; a Python source does not see Spark's settings."""


@dataclass(frozen=True)
class SourceOptions:
    """The checked options of a read. Can be pickled: they go to every task."""

    subscription: Subscription
    start: Position
    end: Position
    """Of a batch read. For a stream, which has no end, it is Latest."""
    latest_if_no_timestamp: bool
    """If no record has the starting timestamp or a later one: start at the end instead of failing."""
    properties: Mapping[str, str]
    """`kafka.*`, without the prefix."""
    fail_on_data_loss: bool
    columns: tuple[str, ...] | None
    """As requested with `columns`; None: all."""
    include_headers: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    max_time_per_trigger_ms: int | None
    """The longest time that a batch spans; all its partitions end at the same timestamp."""
    group_id_prefix: str
    poll_timeout_ms: int
    offset_attempts: int
    offset_retry_interval_ms: int
    metadata_cache_ms: int
    """How long the list of partitions is cached; 0: not at all."""
    push_down: bool
    history: HistoryOption | None = None

    @property
    def group_id(self) -> str | None:
        return self.properties.get("group.id") or None

    @property
    def isolation_level(self) -> int:
        return (
            READ_COMMITTED
            if self.properties.get("isolation.level", "").lower() == "read_committed"
            else READ_UNCOMMITTED
        )

    @property
    def typed(self) -> "tuple[Column, ...]":
        """The columns that a history adds to those of the connector."""
        return self.history.typed if self.history else ()

    def client(self) -> "ClientSettings":
        """How to reach the brokers."""
        return client_of(self.properties)


def batch_options(options: Mapping[str, str]) -> SourceOptions:
    """The options of `spark.read`. Everything that can be checked without a connection is checked here."""
    values = Values(options)
    check_source_names(options)
    start = position(values, "starting", Earliest())
    end = position(values, "ending", Latest())
    check_batch(start, end)
    checked = _common(options, values, start, end)
    for name in STREAM_ONLY:
        if values.has(name):
            _log.warning("The option %s has no effect in a batch read: remove it, or use spark.readStream.", name)
    return checked


def stream_options(options: Mapping[str, str]) -> SourceOptions:
    """The options of `spark.readStream`."""
    values = Values(options)
    check_source_names(options)
    refuse_in_streams(values)
    for name in ENDING:
        if values.has(name):
            raise UserError(
                f"A stream has no end, but the option {name} is set.",
                "remove it, read a batch with spark.read, or stop at the current end with trigger(availableNow=True)",
            )
    return _common(options, values, position(values, "starting", Latest()), Latest())


def general_options(options: Mapping[str, str]) -> SourceOptions:
    """The options that batch and stream reads share, for use before Spark has said which of the two it is."""
    values = Values(options)
    check_source_names(options)
    start = position(values, "starting", Earliest())
    return _common(options, values, start, position(values, "ending", Latest()))


def _common(options: Mapping[str, str], values: Values, start: Position, end: Position) -> SourceOptions:
    topics = subscription(values)
    history = history_option(values, topics, start, end)
    properties = committed_only(source_properties(options), history)
    if "group.id" in properties and values.has("groupIdPrefix"):
        _log.warning("The option groupIdPrefix has no effect together with kafka.group.id: remove one of them.")
    if isinstance(topics, PipelineFlow):
        # Pipelines write in transactions: a reader of aborted records would see rows twice.
        properties = {"isolation.level": "read_committed", **properties}
    level = properties.get("isolation.level", "read_uncommitted").lower()
    if level not in ("read_uncommitted", "read_committed"):
        raise UserError(
            f"The option kafka.isolation.level is {level!r}.", "it is either read_uncommitted or read_committed"
        )
    least = values.integer("minOffsetsPerTrigger", at_least=0)
    most = values.integer("maxOffsetsPerTrigger", at_least=1)
    if least is not None and most is not None and least > most:
        raise UserError(
            f"minOffsetsPerTrigger is {least}, which is more than maxOffsetsPerTrigger, {most}.",
            "lower minOffsetsPerTrigger, or raise maxOffsetsPerTrigger",
        )
    return SourceOptions(
        subscription=topics,
        start=start,
        end=end,
        latest_if_no_timestamp=_strategy(values) == "latest",
        properties=properties,
        fail_on_data_loss=values.boolean("failOnDataLoss", True),
        columns=_columns(values),
        include_headers=values.boolean("includeHeaders", False),
        min_partitions=values.integer("minPartitions", at_least=1, at_most=INT_MAX),
        max_records_per_partition=values.integer("maxRecordsPerPartition", at_least=1),
        max_offsets_per_trigger=most,
        min_offsets_per_trigger=least,
        max_trigger_delay_ms=values.duration_ms("maxTriggerDelay", "15m"),
        max_time_per_trigger_ms=_time_per_trigger(values),
        group_id_prefix=values.text("groupIdPrefix") or _GROUP_PREFIX,
        poll_timeout_ms=values.integer_or("kafkaConsumer.pollTimeoutMs", _POLL_TIMEOUT_MS, at_least=1),
        offset_attempts=max(1, values.integer_or("fetchOffset.numRetries", 3, at_least=0, at_most=INT_MAX)),
        offset_retry_interval_ms=values.integer_or("fetchOffset.retryIntervalMs", 1000, at_least=0),
        metadata_cache_ms=max(0, values.integer_or("partition.metadata.cache.ttl.ms", -1, at_least=-1)),
        push_down=values.boolean("pushDownPredicate", False),
        history=history,
    )


def _time_per_trigger(values: Values) -> int | None:
    name = "maxTimePerTrigger"
    if not values.has(name):
        return None
    span_ms = values.duration_ms(name, "")
    if span_ms < 1:
        raise UserError(f"The option {name} is {values.text(name)!r}.", "use a millisecond or more, such as 5m")
    return span_ms


def _strategy(values: Values) -> str:
    name = "startingOffsetsByTimestampStrategy"
    text = (values.text(name) or "error").lower()
    if text not in ("error", "latest"):
        raise UserError(
            f"The option {name} is {text!r}.",
            "use error (fail if no record has this timestamp or a later one) or latest (then start at the end)",
        )
    return text


def _columns(values: Values) -> tuple[str, ...] | None:
    text = values.text("columns")
    if text is None:
        return None
    names = tuple(name for part in text.split(",") if (name := part.strip()))
    if not names:
        raise UserError("The option columns names no column.", "separate names by commas, such as key,value")
    return names
