"""From process start to the first acknowledged record: on a new directory, and on one that was stopped cleanly."""

from bench.first_record import seconds_to_first_record
from bench.results import Better, Measure
from bench.stage import Benchmark, Stage

NAME = "startup"
_NEW = Measure(NAME, "start to first record, new directory", "s", Better.LESS, 0.1)
_AGAIN = Measure(NAME, "start to first record, after a clean stop", "s", Better.LESS, 0.1)


def run(stage: Stage) -> None:
    for _ in range(stage.sizes.start_rounds):
        for name in stage.server_names:
            server = stage.server(name)
            server.prepare()
            try:
                stage.add(_NEW, name, seconds_to_first_record(server, "first", create=True))
                server.stop()
                stage.add(_AGAIN, name, seconds_to_first_record(server, "first", create=False))
            finally:
                server.close()


BENCHMARK = Benchmark(NAME, "process start to first acknowledged record", run)
