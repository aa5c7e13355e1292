"""Which options exist, and the error for one that does not.

Spark passes every option of a read or a write to the source, so a misspelt name would be ignored: with `startingOffset`
instead of `startingOffsets`, a query begins at the wrong end of a topic. Here an unknown name is refused, with the name
that was probably meant.

Spark's options ignore upper and lower case, and reach a Python source in lower case. The names below are spelt as the
documentation spells them.
"""

import difflib
from collections.abc import Iterable, Mapping

from barnabas.spark.errors import UserError

KAFKA_PREFIX = "kafka."

STRATEGIES = ("subscribe", "subscribePattern", "assign")

ENDING = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")

STREAM_ONLY = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "maxTimePerTrigger")

SOURCE = (
    *STRATEGIES,
    "pipeline",
    "flow",
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingOffsetsByTimestampStrategy",
    *ENDING,
    "failOnDataLoss",
    *STREAM_ONLY,
    "minPartitions",
    "maxRecordsPerPartition",
    "includeHeaders",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "partition.metadata.cache.ttl.ms",
    "columns",
    "pushDownPredicate",
    "history",
)

SINK = ("topic", "includeHeaders", "exactlyOnce", "exactlyOnceId", "txnAppId", "txnVersion", "partitioner")

SPARK = (
    "checkpointLocation",
    "queryName",
    "asyncProgressTrackingEnabled",
    "asyncProgressTrackingCheckpointIntervalMs",
)
"""Options of a stream that Spark itself reads, and passes on."""

_LIKENESS = 0.75
"""Below it, neither name is a misspelling of the other: difflib's ratio of `startingOffset` and `startingOffsets` is
0.97, of `endingOffsets` and `startingOffsets` 0.79, of `topic` and `subscribe` 0.29."""


def check_source_names(options: Mapping[str, str]) -> None:
    _check(options, SOURCE, others=SINK, side="source", other_side="sink")


def check_sink_names(options: Mapping[str, str]) -> None:
    _check(options, SINK, others=SOURCE, side="sink", other_side="source")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name of which this one may be a misspelling."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=_LIKENESS)
    return by_lower[found[0]] if found else None


def _check(
    options: Mapping[str, str], known: Iterable[str], *, others: Iterable[str], side: str, other_side: str
) -> None:
    allowed = {name.lower() for name in (*known, *SPARK)}
    elsewhere = {name.lower(): name for name in others}
    for name in sorted(options):
        lower = name.lower()
        if lower.startswith((KAFKA_PREFIX, "_")) or lower in allowed:
            continue
        if lower == "path":
            raise UserError(
                f"The {side} has no path, but {options[name]!r} was given as one.",
                'name topics with option("subscribe", ...) and call load() without an argument'
                if side == "source"
                else 'name the topic with option("topic", ...) and call save() or start() without an argument',
            )
        if lower in elsewhere:
            raise UserError(
                f"The option {elsewhere[lower]} belongs to the {other_side}, not to the {side}.", _instead(lower)
            )
        meant = nearest(name, (*known, "kafka.bootstrap.servers"))
        if lower.count(".") and meant is None:
            raise UserError(
                f"There is no option {name}.", f"a property of the Kafka client has kafka. in front: kafka.{name}"
            )
        hint = f"did you mean {meant}?" if meant else f"the options of the {side} are: {', '.join(sorted(known))}"
        raise UserError(f"There is no option {name}.", hint)


def _instead(lower: str) -> str:
    if lower == "topic":
        return "to read from topics, use subscribe, subscribePattern or assign"
    if lower in {name.lower() for name in STRATEGIES}:
        return "to write, name the topic with the option topic, or have a column topic"
    return "remove it"
