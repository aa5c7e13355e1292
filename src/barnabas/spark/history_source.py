"""`barnabas.spark.history`: a whole topic, from its Parquet files with Spark's own reader and from the log.

The two meet at one offset per partition: the end of the manifest's files when this is called. The live part is read
with option("history"), too: if the archiver continues and the log deletes records, they are read from the new files.
"""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.history.errors import HistoryError
from barnabas.history.manifest import Manifest, load, topic_folder
from barnabas.model import TopicPartition
from barnabas.spark.errors import UserError
from barnabas.spark.options.positions import EARLIEST
from barnabas.spark.options.source import SourceOptions, batch_options
from barnabas.spark.query.data_loss import DataLost, Loss, warning
from barnabas.spark.source import resolution
from barnabas.spark.source.cluster_connection import ClusterConnection
from barnabas.spark.source.history import Histories
from barnabas.spark.source.offsets import PartitionOffsets
from barnabas.spark.source.ranges import OffsetRange
from barnabas.spark.source.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_log = logging.getLogger("barnabas.spark")

_OWN = ("subscribe", "subscribepattern", "assign", "history", "startingoffsets", "endingoffsets")


def history(
    spark: "SparkSession", *, topic: str, path: str | Path, bootstrap_servers: str | None = None, **options: Any
) -> "DataFrame":
    """The whole topic as a batch: the connector's columns, then the typed ones of its history.

    `options` are those of `format("barnabas")`: history(spark, topic="t", path="/history", **{"kafka.ssl...": "..."}).
    """
    from barnabas.spark.source.columns import default_schema

    given = _checked(topic, path, bootstrap_servers, options)
    source = batch_options(given)
    manifest = _loaded(path, topic)
    log_starts = _log_starts(source)
    _warn_lost(manifest, source)
    schema = default_schema(source.columns, include_headers=source.include_headers, typed=source.typed)
    folder = topic_folder(path, topic).resolve()
    files = [(folder / piece.file).as_uri() for piece in manifest.files() if piece.file]
    reach = {place: _reach(manifest, place) for place in log_starts}
    whole = _live(
        spark, given, starting=_json({place: EARLIEST if at is None else at[1] for place, at in reach.items()})
    )
    if any(at is not None and log_starts[place] < at[0] for place, at in reach.items()):
        # The history no longer has records that the log still has.
        ends = {
            place: log_starts[place] if at is None else max(at[0], log_starts[place]) for place, at in reach.items()
        }
        before = {place: min(start, ends[place]) for place, start in log_starts.items()}
        whole = _live(spark, given, starting=_json(before), ending=_json(ends)).unionByName(whole)
    if not files:
        return whole
    return spark.read.schema(schema).parquet(*files).unionByName(whole)


def _checked(topic: str, path: str | Path, servers: str | None, options: Mapping[str, Any]) -> dict[str, str]:
    given = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
    for name in given:
        if name.lower() in _OWN or name.lower().startswith(("starting", "ending")):
            raise UserError(
                f"history() reads a whole topic, but the option {name} is set.",
                "remove it and filter the columns offset and timestamp: files without matching rows are skipped",
            )
    if servers is not None:
        given["kafka.bootstrap.servers"] = servers
    return {**given, "subscribe": topic, "history": str(Path(path).absolute())}


def _loaded(path: str | Path, topic: str) -> Manifest:
    try:
        return load(path, topic)
    except HistoryError as failure:
        raise UserError(f"{failure.message}.", failure.hint) from failure


def _log_starts(options: SourceOptions) -> PartitionOffsets:
    """Of all partitions that the topic has now."""
    connection = ClusterConnection(options)
    topics = Topics(options.subscription)
    try:
        return connection.ask(lambda cluster: resolution.earliest(cluster, topics.assigned(cluster).partitions))
    finally:
        connection.close()


def _reach(manifest: Manifest, place: TopicPartition) -> tuple[int, int] | None:
    partition = manifest.partitions.get(place.partition)
    return None if partition is None else (partition.start, partition.tiered_through)


def _warn_lost(manifest: Manifest, options: SourceOptions) -> None:
    kept = Histories("", {manifest.topic: manifest})
    losses: list[Loss] = []
    for number, partition in manifest.partitions.items():
        whole = OffsetRange(manifest.topic, number, partition.start, partition.tiered_through)
        losses += kept.divide(whole, 0)[1]
    if losses and options.fail_on_data_loss:
        raise DataLost(losses)
    if losses:
        _log.warning("%s", warning(losses))


def _json(offsets: PartitionOffsets) -> str:
    found: dict[str, dict[str, int]] = {}
    for place, offset in sorted(offsets.items()):
        found.setdefault(place.topic, {})[str(place.partition)] = offset
    return json.dumps(found)


def _live(spark: "SparkSession", given: Mapping[str, str], *, starting: str, ending: str = "latest") -> "DataFrame":
    reader = spark.read.format("barnabas").options(**given)
    return reader.option("startingOffsets", starting).option("endingOffsets", ending).load()
