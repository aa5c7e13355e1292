"""How long a record takes from its producer to a consumer that waits for it."""

from bench.admin import make_topic
from bench.children import in_child
from bench.load.end_to_end import pass_through
from bench.results import Better, Measure
from bench.stage import Benchmark, Stage

NAME = "end-to-end"
_TOPIC = "end-to-end"
_MEASURES = (
    Measure(NAME, "end to end p50", "us", Better.LESS),
    Measure(NAME, "end to end p99", "us", Better.LESS),
)


def run(stage: Stage) -> None:
    count = stage.sizes.end_to_end_count
    with stage.running() as servers:
        for server in servers:
            make_topic(server.port, _TOPIC)
        for round_number in range(stage.sizes.rounds + 1):
            for server in servers:
                outcome = in_child(pass_through, server.port, _TOPIC, count, round_number * count)
                if round_number:
                    for measure, value in zip(_MEASURES, (outcome.p50_us, outcome.p99_us), strict=True):
                        stage.add(measure, server.name, value)


BENCHMARK = Benchmark(NAME, "from a producer to a consumer that waits", run)
