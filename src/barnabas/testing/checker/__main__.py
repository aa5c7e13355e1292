"""`python -m barnabas.testing.checker`: run a workload and check it, or check a history again."""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from barnabas.testing.checker import history
from barnabas.testing.checker.anomalies import MEANING
from barnabas.testing.checker.check import Result, check
from barnabas.testing.checker.report import as_data, print_anomalies, print_counts

_EXAMPLES = """\
examples:
  python -m barnabas.testing.checker run --workload idempotent --minutes 2
  python -m barnabas.testing.checker run --workload all --minutes 6 --seed 7 --directory /tmp/runs
  python -m barnabas.testing.checker run --workload bank --bootstrap localhost:9092 --minutes 1
  python -m barnabas.testing.checker check /tmp/runs/bank/history.jsonl --format json

The exit status is 1 if there is an anomaly, 2 if the run or the file is not as it should be.
"""
ALL = ("plain", "idempotent", "churn", "consumer-churn", "transactional", "bank")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "anomalies":
        for kind, meaning in MEANING.items():
            print(f"{kind:30} {meaning}")
        return 0
    try:
        if options.command == "check":
            return _report([_check(path) for path in options.history], options.format)
        return _run(options)
    except ModuleNotFoundError as error:
        if error.name != "confluent_kafka":
            raise
        print("error: a run needs confluent-kafka: pip install 'barnabas[client]'", file=sys.stderr)
        return 2
    except (history.BadHistory, OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    from barnabas.testing.checker.faults import FAULTS
    from barnabas.testing.checker.run import Plan, progress, run

    seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
    directory = options.directory or Path(tempfile.mkdtemp(prefix="barnabas-checker-"))
    config = dict(pair.split("=", 1) for pair in options.config)
    checked = []
    for workload in ALL if options.workload == "all" else (options.workload,):
        progress(f"{workload}: {options.minutes:g} minutes, seed {seed}, in {directory / workload}")
        plan = Plan(
            workload,
            options.minutes * 60,
            seed,
            directory / workload,
            bootstrap=options.bootstrap,
            config=config,
            faults=FAULTS if options.faults is None else tuple(each for each in options.faults.split(",") if each),
            broken=options.broken,
        )
        checked.append(_check(run(plan)))
    return _report(checked, options.format)


def _check(path: Path) -> tuple[Result, Path]:
    started = time.monotonic()
    result = check(*history.read(path))
    print(f"{path}: checked in {time.monotonic() - started:.1f} s", file=sys.stderr)
    return result, path


def _report(checked: list[tuple[Result, Path]], style: str) -> int:
    if style == "json":
        print(json.dumps([as_data(result, path) for result, path in checked]))
    else:
        console = Console(soft_wrap=True)
        print_counts([result for result, _ in checked], console)
        for result, _ in checked:
            print_anomalies(result, console)
    return 0 if all(result.is_clean for result, _ in checked) else 1


def _parser() -> argparse.ArgumentParser:
    from barnabas.testing.checker.faults import BROKEN, FAULTS

    parser = argparse.ArgumentParser(
        prog="python -m barnabas.testing.checker",
        description="Runs clients against a broker that is killed and paused, and finds anomalies.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a workload, then check its history")
    run.add_argument("--workload", choices=(*ALL, "all"), default="all", help="[default: all, one after another]")
    run.add_argument("--minutes", type=float, default=1.0, metavar="N", help="minutes per workload [default: 1]")
    run.add_argument("--seed", type=int, metavar="N", help="repeat the faults of the run with this seed")
    run.add_argument("--directory", type=Path, help="for data, histories and error files [default: a temporary one]")
    run.add_argument("--bootstrap", metavar="SERVERS", help="an existing cluster: then faults affect only the clients")
    run.add_argument(
        "--config", metavar="KEY=VALUE", action="append", default=[], help="a librdkafka setting for all clients"
    )
    run.add_argument("--faults", metavar="LIST", help=f"of {','.join(FAULTS)}, or empty [default: all]")
    run.add_argument("--broken", metavar="LIST", help=f"build these defects into our own broker: {', '.join(BROKEN)}")
    again = commands.add_parser("check", help="check histories again")
    again.add_argument("history", type=Path, nargs="+")
    for command in (run, again):
        command.add_argument("--format", choices=("table", "json"), default="table")
    commands.add_parser("anomalies", help="list the anomalies")
    return parser


if __name__ == "__main__":
    sys.exit(main())
