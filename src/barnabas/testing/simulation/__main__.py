"""`python -m barnabas.testing.simulation --seeds 100 --seed 1`: the workload under faults, seed by seed.

One seed in ten is run again in two processes with other hash seeds, and must do the same. A seed with too few faults
does not count. The exit status is 1 if a promise was broken or a seed did not replay.
"""

import argparse
import logging
import secrets
import sys
import time
import traceback
from collections import Counter
from typing import Final

from barnabas.testing.simulation.replay import check_replay
from barnabas.testing.simulation.workload.run import DURATION_MS, Outcome, run_workload

REPLAY_EVERY: Final = 10


def main() -> int:
    options = _parse()
    logging.getLogger("barnabas").setLevel(logging.CRITICAL)  # brokers on broken disks complain a lot
    if options.broken is not None:
        from barnabas.testing.faulty_serve import FAULTS

        FAULTS[options.broken]()
    if options.digest:
        print(run_workload(options.seed, duration_ms=options.seconds * 1000)[0].digest)
        return 0
    return _run_seeds(options)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m barnabas.testing.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="how many seeds (10)")
    parser.add_argument("--seed", type=int, default=secrets.randbits(31), metavar="S", help="the first one; random")
    parser.add_argument("--seconds", type=int, default=DURATION_MS // 1000, help="virtual time of each workload (30)")
    parser.add_argument("--minutes", type=float, help="stop after this time, even if seeds are left")
    parser.add_argument("--broken", metavar="FAULT", help="build in a defect: see barnabas.testing.faulty_serve")
    parser.add_argument("--digest", action="store_true", help="run one seed and print the digest of its trace")
    return parser.parse_args()


def _run_seeds(options: argparse.Namespace) -> int:
    total: Counter[str] = Counter()
    failed = []
    started = time.monotonic()
    done = 0
    for seed in range(options.seed, options.seed + options.seeds):
        if options.minutes is not None and time.monotonic() - started > 60 * options.minutes:
            break
        began = time.monotonic()
        try:
            outcome, _ = run_workload(seed, duration_ms=options.seconds * 1000)
            if (seed - options.seed) % REPLAY_EVERY == 0 and options.broken is None:
                check_replay(seed, outcome.digest, duration_ms=options.seconds * 1000)
        except Exception:
            failed.append(seed)
            print(f"seed {seed} FAILED\n{traceback.format_exc()}", flush=True)
            continue
        done += 1
        total.update(outcome.counters)
        total.update({"counted seeds": outcome.counts, "virtual ms": round(outcome.virtual_s * 1000)})
        print(_line(outcome, time.monotonic() - began), flush=True)
    print(f"{done} seeds passed, {len(failed)} failed, {total.pop('counted seeds', 0)} had enough faults to count;")
    print(f"{total.pop('virtual ms', 0) / 3_600_000:.2f} hours of virtual time in {time.monotonic() - started:.0f} s;")
    print(", ".join(f"{count:,} {name}" for name, count in sorted(total.items())))
    if failed:
        print(f"failed seeds: {', '.join(map(str, failed))}; repeat one with --seed S --seeds 1")
    return 1 if failed else 0


def _line(outcome: Outcome, seconds: float) -> str:
    seen = outcome.counters
    return (
        f"seed {outcome.seed}: {outcome.virtual_s:.1f} s in {seconds:.1f} s, {outcome.steps:,} steps, "
        f"{seen.get('faults', 0)} faults, {seen.get('acknowledged records', 0):,} records acknowledged, "
        f"{seen.get('read records', 0):,} read{'' if outcome.counts else ' (too few faults: does not count)'}"
    )


if __name__ == "__main__":
    sys.exit(main())
