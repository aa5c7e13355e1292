"""What a Spark benchmark gets: a session with both connectors, a broker, a place for results."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bench.results import Measure, Results
from bench.servers import Server
from bench.sockets import HOST
from bench.spark.sizes import Sizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The names under which results are kept: ours is compared with the other.
OURS: Final = "barnabas"
THEIRS: Final = "kafka"
TITLES: Final = {OURS: 'format("barnabas")', THEIRS: "Spark's connector"}


@dataclass(slots=True)
class SparkStage:
    sizes: Sizes
    server: Server
    spark: "SparkSession"
    directory: Path
    """For checkpoints and Parquet files. It must be a real disk, or the figures are too good."""
    session: str = OURS
    """Whose settings the session has: ours, or Spark's defaults."""
    results: Results = field(default_factory=Results)
    filled: set[str] = field(default_factory=set)
    """Topics with records to read."""
    _started: float = field(default_factory=time.monotonic)

    @property
    def servers(self) -> str:
        return f"{HOST}:{self.server.port}"

    def add(self, measure: Measure, who: str, value: float) -> None:
        if self.session != OURS:
            measure = replace(measure, benchmark=f"{measure.benchmark}, a session with Spark's defaults")
        self.results.add(measure, who, value)
        self.log(f"{measure.name}: {TITLES[who]} {value:,.4g} {measure.unit}")

    def log(self, text: str) -> None:
        print(f"{time.monotonic() - self._started:7.1f}s  {text}", file=sys.stderr, flush=True)

    def alternate(self, turns: Sequence["Turn"]) -> None:
        """Run all of them once to warm up, then round by round, so that changes of the machine affect all of them."""
        for number in range(self.sizes.rounds + 1):
            for turn in turns:
                value = turn.run()
                if number > 0:
                    self.add(turn.measure, turn.who, value)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self.directory) as place:
            yield Path(place)


class Turn(NamedTuple):
    measure: Measure
    who: str
    run: Callable[[], float]
    """Measures once."""


class Benchmark(NamedTuple):
    name: str
    summary: str
    run: Callable[[SparkStage], None]


@contextmanager
def session_with_both(directory: Path, kind: str = OURS) -> "Iterator[SparkSession]":
    """Our own session's settings or Spark's defaults, and the connector's jars; both connectors get the same."""
    from interop.peers import Peers

    settings: Mapping[str, Any] = {
        "spark.jars": ",".join(map(str, sorted(Peers().spark_connector_jars.glob("*.jar")))),
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.local.dir": str(directory / "local"),
    }
    running = _start(settings) if kind == OURS else _start_with_defaults(settings)
    try:
        yield running
    finally:
        running.stop()


def _start(settings: Mapping[str, Any]) -> "SparkSession":
    from barnabas.spark import session

    return session("bench", "local[2]", **settings)


def _start_with_defaults(settings: Mapping[str, Any]) -> "SparkSession":
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # or Spark takes whatever `python3` is
    builder = SparkSession.builder.appName("bench").master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
