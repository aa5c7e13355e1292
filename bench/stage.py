"""What a benchmark gets: servers to start, a place for results, a log for progress."""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
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
    results: Results = field(default_factory=Results)
    _started: float = field(default_factory=time.monotonic)

    def server(self, name: str, properties: Mapping[str, str] | None = None) -> Server:
        """A server that is not started yet: use it in a `with` block, or prepare and start it."""
        home = Path(tempfile.mkdtemp(prefix=f"bench-{name}-", dir=self.directory))
        shutil.rmtree(home)  # the server makes it
        return SERVERS[name](home, properties)

    @contextmanager
    def running(self, properties: Mapping[str, str] | None = None) -> Iterator[list[Server]]:
        """All servers, running at the same time; benchmarks alternate between them, and the other one is idle."""
        with ExitStack() as stack:
            yield [stack.enter_context(self.server(name, properties)) for name in self.server_names]

    def add(self, measure: Measure, server: str, value: float) -> None:
        self.results.add(measure, server, value)
        self.log(f"{measure.name}: {server} {value:,.4g} {measure.unit}")

    def note(self, sentence: str) -> None:
        self.results.notes.append(sentence)
        self.log(sentence)

    def log(self, text: str) -> None:
        print(f"{time.monotonic() - self._started:7.1f}s  {text}", file=sys.stderr, flush=True)


class Benchmark(NamedTuple):
    name: str
    summary: str
    run: Callable[[Stage], None]
