"""`python -m bench.spark`."""

import argparse
import json
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from bench import machine
from bench.__main__ import end_on_signals, kept
from bench.chart import draw
from bench.report import markdown, print_table, with_figures
from bench.results import Results
from bench.servers import BARNABAS, SERVERS
from bench.spark import history, reads, sinks, streams
from bench.spark.sizes import FULL, QUICK
from bench.spark.stage import OURS, TITLES, Benchmark, SparkStage, session_with_both

BENCHMARKS: tuple[Benchmark, ...] = (reads.BENCHMARK, streams.BENCHMARK, sinks.BENCHMARK, history.BENCHMARK)
BEGIN_MARK = "<!-- figures of `make bench-spark` -->"
_CHART_TITLE = "Our source and sink: times better than Spark's own Kafka connector"
_QUIET_LOAD = 0.3


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    results = kept(options.load) if options.load else _run(options)
    if options.chart:
        draw(results, options.chart, _CHART_TITLE)
    if options.page:
        options.page.write_text(
            with_figures(options.page.read_text(), results, TITLES, begin_mark=BEGIN_MARK, picture=_picture(options))
        )
    if options.format == "json":
        print(json.dumps(results.to_json(), indent=1))
    elif options.format == "markdown":
        print(markdown(results, TITLES))
    else:
        print_table(results, Console(width=None if sys.stdout.isatty() else 140), TITLES)
    return 0


def _picture(options: argparse.Namespace) -> str:
    """The chart on the page, if one was drawn."""
    if not options.chart:
        return ""
    return f"![{_CHART_TITLE}]({os.path.relpath(options.chart, options.page.parent)})"


def _run(options: argparse.Namespace) -> Results:
    busy = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-", dir=options.directory) as directory:
        home = Path(directory)
        sizes = QUICK if options.quick else FULL
        with SERVERS[options.broker](home / "broker") as server, session_with_both(home, options.session) as spark:
            stage = SparkStage(sizes, server, spark, home, options.session)
            stage.results.machine.update(_facts(options.broker))
            if busy > _QUIET_LOAD:
                stage.results.notes.append(f"the machine was not quiet: its load average was {busy:.1f} before the run")
            for benchmark in BENCHMARKS:
                if not options.benchmarks or benchmark.name in options.benchmarks:
                    stage.log(f"{benchmark.name}: {benchmark.summary}")
                    benchmark.run(stage)
                    if options.save:  # after each benchmark: a run is long, and may be interrupted
                        options.save.write_text(json.dumps(stage.results.to_json(), indent=1) + "\n")
    return stage.results


def _facts(broker: str) -> dict[str, str]:
    facts = machine.describe(with_kafka=True)
    facts.pop("kafka")
    facts["broker"] = "Barnabas" if broker == BARNABAS else "Apache Kafka 4.3.1"
    facts["pyspark"] = f"{version('pyspark')}, local[2], 4 partitions in each topic"
    facts["connector"] = "spark-sql-kafka-0-10 4.2.0, kafka-clients 3.9.1"
    return facts


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {benchmark.name:<14}{benchmark.summary}" for benchmark in BENCHMARKS)
    parser = argparse.ArgumentParser(
        prog="python -m bench.spark",
        description="Our Spark source and sink compared with Spark's own Kafka connector.",
        epilog=f"benchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [benchmark.name for benchmark in BENCHMARKS]
    parser.add_argument("benchmarks", nargs="*", metavar="BENCHMARK", choices=[*names, []], help="which [default: all]")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--broker", choices=sorted(SERVERS), default=BARNABAS, help="[default: barnabas]")
    parser.add_argument(
        "--session",
        choices=(OURS, "plain"),
        default=OURS,
        help="that of barnabas.spark.session(), or one with Spark's defaults [default: barnabas]",
    )
    parser.add_argument("--format", choices=("table", "json", "markdown"), default="table", help="[default: table]")
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the results as JSON")
    parser.add_argument(
        "--load", type=Path, nargs="+", metavar="FILE", help="show kept results, later files over earlier ones"
    )
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draw the ratios as a PNG")
    parser.add_argument("--page", type=Path, metavar="FILE", help="replace the figures on this page (Markdown)")
    parser.add_argument("--directory", type=Path, metavar="DIR", help="where data is kept [default: $TMPDIR]")
    return parser


if __name__ == "__main__":
    end_on_signals()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
