"""`python -m barnabas.testing.crash`: list the steps, test all of them, or repeat one trial."""

import argparse
import asyncio
import logging
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from barnabas.testing.crash.plan import Planned, plan_processes, plan_simulated
from barnabas.testing.crash.process import ProcessHost
from barnabas.testing.crash.simulated import SimulatedHost
from barnabas.testing.crash.trial import Outcome, Trial
from barnabas.testing.crashing_disk import CrashPoint

PROGRESS_EVERY = 100

_EXAMPLES = """\
examples:
  python -m barnabas.testing.crash --list
  python -m barnabas.testing.crash --simulated --jobs 2
  python -m barnabas.testing.crash --processes --sample 20 --seed 7
  python -m barnabas.testing.crash --at 'roll: create .log#2/after' --end tear --seed 7
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
    if options.list:
        for step, count in sorted(reference_steps().items()):
            print(f"{count:5} {step}")
        return 0
    if options.at:
        points = tuple(map(CrashPoint.parse, options.at))
        return _report([Planned(points, options.end, seed)], jobs=1)
    planned = []
    if options.simulated or not options.processes:
        planned += list(plan_simulated(reference_steps(), seed))
    if options.processes or not options.simulated:
        planned += list(plan_processes(reference_steps(), seed))
    if options.sample is not None:
        planned = random.Random(seed).sample(planned, min(options.sample, len(planned)))
    print(f"seed {seed}: {len(planned)} trials", flush=True)
    return _report(planned, jobs=options.jobs)


def reference_steps() -> dict[str, int]:
    """How often each step occurs without a crash."""
    _be_quiet()

    async def run() -> dict[str, int]:
        host = SimulatedHost("kill", 0)
        outcome = await Trial(host, ()).run()
        if outcome.failure is not None:
            raise RuntimeError(f"the workload fails without any crash: {outcome.failure}")
        return host.steps

    return asyncio.run(run())


def run_planned(planned: Planned) -> Outcome:
    _be_quiet()
    return asyncio.run(_run(planned))


async def _run(planned: Planned) -> Outcome:
    if planned.ending != "process":
        return await Trial(SimulatedHost(planned.ending, planned.seed), planned.points).run()
    host = ProcessHost()
    try:
        return await Trial(host, planned.points).run()
    finally:
        host.close()


def _report(planned: Sequence[Planned], *, jobs: int) -> int:
    """Run the trials, print failures as they happen and the counts at the end. Returns the exit status."""
    started = time.monotonic()
    reached = by_hand = deaths = 0
    failed = []
    steps = set()
    with ProcessPoolExecutor(jobs) as pool:
        for number, (trial, outcome) in enumerate(zip(planned, pool.map(run_planned, planned), strict=True), 1):
            if number % PROGRESS_EVERY == 0:
                print(f"{number} of {len(planned)}", file=sys.stderr, flush=True)
            reached += outcome.reached
            by_hand += outcome.restarts_by_hand
            deaths += outcome.deaths
            if outcome.reached:
                steps.add(trial.points[0].step)
            if outcome.failure is not None:
                failed.append(trial)
                print(f"FAILED {trial}: {outcome.failure}", flush=True)
    print(
        f"{len(planned)} trials in {time.monotonic() - started:.0f} s, {reached} reached their step, "
        f"{len(steps)} different steps, {deaths} deaths, {by_hand} restarts by hand after an error, "
        f"{len(failed)} failed"
    )
    return 1 if failed else 0


def _be_quiet() -> None:
    """The broker's warnings are about faults that are injected on purpose."""
    logging.getLogger("barnabas").propagate = False


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m barnabas.testing.crash",
        description="Ends a broker at every step of its disk I/O, and checks that it keeps what was acknowledged.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="store_true", help="list the named steps, and how often each occurs")
    parser.add_argument("--simulated", action="store_true", help="only brokers in this process, on a simulated disk")
    parser.add_argument("--processes", action="store_true", help="only brokers that SIGKILL themselves")
    parser.add_argument("--sample", type=int, metavar="N", help="run only this many trials, chosen at random")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="trials in parallel [default: 1]")
    parser.add_argument("--seed", type=int, metavar="N", help="repeat the run with this seed")
    parser.add_argument("--at", action="append", metavar="POINT", help="one trial: name#n/moment; may be repeated")
    parser.add_argument(
        "--end",
        choices=("kill", "cut", "tear", "process"),
        default="kill",
        help="how the broker of --at ends [default: kill]",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
