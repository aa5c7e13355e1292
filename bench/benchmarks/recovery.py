"""Restart after SIGKILL: the log's segments were never synced, so all of it must be read and checked again."""

from bench.admin import make_topic
from bench.children import in_child
from bench.first_record import seconds_to_first_record
from bench.frames import batch_of
from bench.load import bare_produce
from bench.results import Better, Measure
from bench.servers import Server
from bench.stage import Benchmark, Stage

NAME = "recovery"
_PARTITIONS = 4
_TOPIC = "recovery"
_RECORDS_PER_BATCH = 16
_BACK = Measure(NAME, "SIGKILL with a 2 GB log, until it takes records again", "s", Better.LESS, 0.25)


def run(stage: Stage) -> None:
    for _ in range(stage.sizes.recovery_rounds):
        for name in stage.server_names:
            with stage.server(name) as server:
                _fill(server, stage.sizes.recovery_bytes)
                server.kill()
                back_s = seconds_to_first_record(server, _TOPIC, partitions=range(_PARTITIONS), create=False)
                stage.add(_BACK, name, back_s)


def _fill(server: Server, size: int) -> None:
    """Batches of 16 KB; four active segments, none of which is full."""
    make_topic(server.port, _TOPIC, _PARTITIONS)
    batch = batch_of(_RECORDS_PER_BATCH, 1024)
    in_child(bare_produce.pump, server.port, _TOPIC, batch, size // len(batch), _PARTITIONS)


BENCHMARK = Benchmark(NAME, "time back after SIGKILL with a 2 GB log", run)
