"""`python -m bench`."""

import argparse
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from barnabas.portable.open_file_limit import raise_open_file_limit
from bench import machine
from bench.benchmarks import BENCHMARKS
from bench.chart import draw
from bench.report import markdown, print_table, with_figures
from bench.results import Results
from bench.servers import BARNABAS, KAFKA, SERVERS
from bench.sizes import FULL, QUICK
from bench.stage import Benchmark, Stage, matches

_QUIET_LOAD = 0.3


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.kind and not _chosen(options):
        titles = "\n".join(f"  {title}" for benchmark in BENCHMARKS for title in benchmark.kinds)
        parser.error(f"no kind matches {' or '.join(options.kind)}; there are:\n{titles}")
    results = kept(options.load) if options.load else _run(options)
    if options.chart:
        draw(results, options.chart)
    if options.page:
        options.page.write_text(with_figures(options.page.read_text(), results))
    if options.format == "json":
        print(json.dumps(results.to_json(), indent=1))
    elif options.format == "markdown":
        print(markdown(results))
    else:
        print_table(results, Console(width=None if sys.stdout.isatty() else 140))
    return 0


def kept(files: list[Path]) -> Results:
    results = Results()
    for file in files:
        results.replace(Results.from_json(json.loads(file.read_text())))
    return results


def _run(options: argparse.Namespace) -> Results:
    raise_open_file_limit()  # servers inherit it: 10,000 partitions and 5,000 connections need descriptors
    server_names = [options.only] if options.only else [BARNABAS, KAFKA]
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-", dir=options.directory) as directory:
        stage = Stage(QUICK if options.quick else FULL, server_names, Path(directory), options.kind)
        stage.results.machine.update(machine.describe(with_kafka=KAFKA in server_names))
        busy = os.getloadavg()[0]
        if busy > _QUIET_LOAD:
            stage.note(f"the machine was not quiet: its load average was {busy:.1f} before the run")
        for benchmark in _chosen(options):
            stage.run(benchmark)
            if options.save:  # after each: a run is long, and what it found so far is found
                options.save.write_text(json.dumps(stage.results.to_json(), indent=1) + "\n")
    return stage.results


def _chosen(options: argparse.Namespace) -> list[Benchmark]:
    """Those that were named, or all; of these, if there are patterns of kinds, those that have such kinds."""
    named = [each for each in BENCHMARKS if not options.benchmarks or each.name in options.benchmarks]
    return [each for each in named if not options.kind or any(matches(kind, options.kind) for kind in each.kinds)]


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {benchmark.name:<14}{benchmark.summary}" for benchmark in BENCHMARKS)
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Barnabas and Apache Kafka side by side.",
        epilog=f"benchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [benchmark.name for benchmark in BENCHMARKS]
    parser.add_argument("benchmarks", nargs="*", metavar="BENCHMARK", choices=[*names, []], help="which [default: all]")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        metavar="PATTERN",
        help='only these kinds of requests or clients, such as "Produce*"; may be repeated',
    )
    parser.add_argument("--only", choices=sorted(SERVERS), help="one server instead of both")
    parser.add_argument("--format", choices=("table", "json", "markdown"), default="table", help="[default: table]")
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the results as JSON")
    parser.add_argument(
        "--load", type=Path, nargs="+", metavar="FILE", help="show kept results, later files over earlier ones"
    )
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draw the ratios as a PNG")
    parser.add_argument("--page", type=Path, metavar="FILE", help="replace the figures on this page (Markdown)")
    parser.add_argument("--directory", type=Path, metavar="DIR", help="where servers keep data [default: $TMPDIR]")
    return parser


def end_on_signals() -> None:
    """Servers have sessions of their own: however the run ends, it must end them. A shell's `&` ignores SIGINT."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)


if __name__ == "__main__":
    end_on_signals()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
