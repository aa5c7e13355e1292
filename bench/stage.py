"""What a benchmark gets: servers to start, a place for results, a log for progress."""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from bench.results import Measure, Results
from bench.servers import SERVERS, Server
from bench.sizes import Sizes


@dataclass(slots=True)
class Stage:
    sizes: Sizes
    server_names: Sequence[str]
    directory: Path
    """Where servers keep their data. It must be a real disk, or the figures are too good."""
    kinds: Sequence[str] = ()
    """Patterns for titles: what to measure of a benchmark that has many kinds of requests or clients; empty for all."""
    results: Results = field(default_factory=Results)
    _started: float = field(default_factory=time.monotonic)
    _benchmark_started: float = field(default_factory=time.monotonic)

    def run(self, benchmark: "Benchmark") -> None:
        self._benchmark_started = time.monotonic()
        self.log(f"{benchmark.name}: {benchmark.summary}")
        benchmark.run(self)

    def server(self, name: str, properties: Mapping[str, str] | None = None) -> Server:
        """A server that is not started yet: use it in a `with` block, or prepare and start it."""
        home = Path(tempfile.mkdtemp(prefix=f"bench-{name}-", dir=self.directory))
        shutil.rmtree(home)  # the server makes it
        return SERVERS[name](home, properties)

    @contextmanager
    def running(self, properties: Mapping[str, str] | None = None) -> Iterator[list[Server]]:
        """All servers, running at the same time; benchmarks alternate between them, and the other one is idle."""
        with ExitStack() as stack:
            servers = [stack.enter_context(self.server(name, properties)) for name in self.server_names]
            for server in servers:
                self.log(f"{server.name} is process {server.pid}, port {server.port}")
            yield servers

    def add(self, measure: Measure, server: str, value: float) -> None:
        self.results.add(measure, server, value)
        self.log(f"{measure.name}: {server} {value:,.4g} {measure.unit}")

    def log_result(self, measure: Measure) -> None:
        """For a measure whose rounds are too many to log each of them."""
        values = ", ".join(f"{name} {self.results.value(measure, name):,.4g}" for name in self.results.values[measure])
        ratios = sorted(self.results.ratios(measure))
        spread = f"; ratio {self.results.ratio(measure):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})" if ratios else ""
        self.log(f"{measure.name}: {values} {measure.unit}{spread}")

    def log_progress(self, benchmark: str, done: int, total: int) -> None:
        now = time.monotonic()
        left_s = (now - self._benchmark_started) / done * (total - done)
        self.log(f"{benchmark}: {done} of {total} are done; about {left_s / 60:.0f} minutes left")

    def is_wanted(self, title: str) -> bool:
        return not self.kinds or matches(title, self.kinds)

    def note(self, sentence: str) -> None:
        self.results.notes.append(sentence)
        self.log(sentence)

    def log(self, text: str) -> None:
        print(f"{time.monotonic() - self._started:7.1f}s  {text}", file=sys.stderr, flush=True)


class Benchmark(NamedTuple):
    name: str
    summary: str
    run: Callable[[Stage], None]
    kinds: Sequence[str] = ()
    """The titles of what it measures, if a run can be limited to some of them."""


def matches(title: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns matches, whatever the case."""
    return any(fnmatchcase(title.lower(), pattern.lower()) for pattern in patterns)
