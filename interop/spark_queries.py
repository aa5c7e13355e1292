"""One Spark session in which both connectors exist, and queries that differ in the name of the format alone."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from peers import Peers
from spark_records import Seen, collect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OURS: Final = "barnabas"
THEIRS: Final = "kafka"
FORMATS: Final = (OURS, THEIRS)
STREAM_SECONDS_MAX: Final = 120

# Both connectors retry when a broker does not answer; an error should not take seconds.
_QUICK: Final = {"fetchOffset.retryIntervalMs": "10"}

T = TypeVar("T")


@contextmanager
def session_with_both(peers: Peers, home: Path) -> "Iterator[SparkSession]":
    from barnabas.spark import session

    settings: dict[str, Any] = {
        "spark.jars": ",".join(map(str, sorted(peers.spark_connector_jars.glob("*.jar")))),
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.local.dir": str(home / "local"),
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    }
    running = session("parity", "local[2]", **settings)
    try:
        yield running
    finally:
        running.stop()


def for_both(action: Callable[[str], T]) -> dict[str, T]:
    """In parallel: a small query mostly waits. Not for writing: Spark finds Python sinks only in its first thread."""
    with ThreadPoolExecutor(len(FORMATS)) as pool:
        return dict(zip(FORMATS, pool.map(action, FORMATS), strict=True))


def read(spark: "SparkSession", kind: str, servers: str, options: Mapping[str, str]) -> "DataFrame":
    return spark.read.format(kind).options(**_all(servers, options)).load()


def stream(
    spark: "SparkSession", kind: str, servers: str, options: Mapping[str, str], checkpoint: Path
) -> list[list[Seen]]:
    """The rows of each batch, up to the current end (AvailableNow)."""
    frame = spark.readStream.format(kind).options(**_all(servers, options)).load()
    batches: dict[int, list[Seen]] = {}

    def keep(batch: "DataFrame", number: int) -> None:
        batches[number] = collect(batch)

    query = (
        frame.writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(STREAM_SECONDS_MAX), f"{kind} has not come to an end"
    finally:
        query.stop()
    return [batches[number] for number in sorted(batches)]


def refusal(action: Callable[[], object]) -> str:
    """The error message for a mistake, in a program that uses our session."""
    from barnabas.spark.readable import explain

    try:
        action()
    except AssertionError:
        raise
    except Exception as error:
        return explain(error)
    raise AssertionError("it was not refused")


def _all(servers: str, options: Mapping[str, str]) -> dict[str, str]:
    return {"kafka.bootstrap.servers": servers, **_QUICK, **options}
