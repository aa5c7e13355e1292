"""Kill Spark and the broker while a query runs. The exit status is 1 unless every row is written exactly once."""

import argparse
import json
import random
import signal
import sys

from barnabas.testing.spark_kills.named_steps import every_step, run_lives
from barnabas.testing.spark_kills.rounds import Result, run_rounds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m barnabas.testing.spark_kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=None, help="seed of all random choices; printed if it is not given")
    parser.add_argument(
        "--at-least-once", action="store_true", help="without exactlyOnce; exits with 1 if no row is duplicated"
    )
    parser.add_argument("--every-step", action="store_true", help="instead of rounds: a kill at each named step")
    arguments = parser.parse_args()
    # On SIGTERM, leave nothing running.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    if arguments.every_step:
        return kill_at_every_step()
    seed = random.randrange(1 << 32) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    result = run_rounds(
        arguments.rounds, seed, exactly_once=not arguments.at_least_once, tell=lambda line: print(line, flush=True)
    )
    print(report(result))
    if arguments.at_least_once:
        return 0 if result.doubled and not result.missing else 1
    return 0 if result.is_exact else 1


def kill_at_every_step() -> int:
    result = run_lives(list(every_step()), lambda line: print(line, flush=True))
    print(f"{result.lives} lives; steps passed: {json.dumps(dict(sorted(result.steps.items())))}")
    print(f"rows in: {result.rows_in.total()}, out: {result.rows_out.total()}, equal: {result.is_exact}")
    return 0 if result.is_exact else 1


def report(result: Result) -> str:
    lines = [
        f"seed {result.seed}: {result.rounds} rounds in {result.seconds:.0f} s",
        f"kills: {json.dumps(dict(sorted(result.kills.items())))}; starts of the driver: {result.driver_starts}",
        f"second and later attempts of tasks: {result.second_attempts}; aborted records: {result.aborted_records}",
        f"steps passed: {json.dumps(dict(sorted(result.steps.items())))}",
        f"rows in: {result.rows_in}, out: {result.rows_out}, missing: {result.missing}, doubled: {result.doubled}, "
        f"foreign: {result.foreign}",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
