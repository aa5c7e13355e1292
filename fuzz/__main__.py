"""`python -m fuzz [--seconds N] [--seed N] [NAME ...]`: each target for N seconds, in its own process.

An input that raises an undeclared error, takes more than ten seconds, or makes the process grow beyond a gigabyte ends
its target and is kept in `fuzz-findings/`; `python -m fuzz --replay NAME FILE` runs it again. Fix the parser, and add
the input to `tests/fuzz/test_regressions.py`.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from fuzz.targets import TARGETS

RSS_MB_MAX: Final = 1024
INPUT_SECONDS_MAX: Final = 10
INPUT_BYTES_MAX: Final = 4096
FINDINGS: Final = "fuzz-findings"


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description="Feed malformed bytes to every parser.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"targets; all if none: {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 2**31))
    parser.add_argument("--replay", metavar="FILE", help="run one input through one target, without atheris")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(TARGETS)
    if unknown or (arguments.replay and len(arguments.names) != 1):
        parser.error(f"targets are {', '.join(TARGETS)}")
    if arguments.replay:
        TARGETS[arguments.names[0]].run(Path(arguments.replay).read_bytes())
        return 0
    failed = [name for name in arguments.names or TARGETS if not fuzz_one(name, arguments.seconds, arguments.seed)]
    if failed:
        print(f"failed: {', '.join(failed)}; the inputs are in {FINDINGS}/", file=sys.stderr)
    return 1 if failed else 0


def fuzz_one(name: str, seconds: int, seed: int) -> bool:
    os.makedirs(FINDINGS, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"fuzz-{name}-") as corpus:
        for number, content in enumerate(TARGETS[name].make_seeds(random.Random(seed))):
            Path(corpus, f"seed-{number:04d}").write_bytes(content)
        options = {
            "seed": seed,
            "max_total_time": seconds,
            "max_len": INPUT_BYTES_MAX,
            "timeout": INPUT_SECONDS_MAX,
            "rss_limit_mb": RSS_MB_MAX,
            "print_final_stats": 1,
            "artifact_prefix": f"{FINDINGS}/{name}-",
        }
        command = [
            sys.executable,
            "-m",
            "fuzz.one",
            name,
            *(f"-{key}={value}" for key, value in options.items()),
            corpus,
        ]
        status, output, peak_mb = run_and_measure(command)
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", output)
    verdict = "ok" if status == 0 else "FAILED"
    print(
        f"{name:20} seed {seed:10}  {int(executed[1]) if executed else 0:10,} executions"
        f"  {peak_mb:5} MB at most  {verdict}",
        flush=True,
    )
    if status:
        print(output[-4000:], file=sys.stderr)
    return status == 0


def run_and_measure(command: list[str]) -> tuple[int, str, int]:
    """Its status, its output, and the memory it needed in megabytes.

    What libFuzzer says of its memory includes that of its parent, from before it became a process of its own.
    """
    peak_mb = 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as running:
        while True:
            try:
                output, _ = running.communicate(timeout=1)
            except subprocess.TimeoutExpired:
                status = Path(f"/proc/{running.pid}/status")
                if found := re.search(r"VmHWM:\s*(\d+) kB", status.read_text() if status.exists() else ""):
                    peak_mb = max(peak_mb, int(found[1]) // 1024)
            else:
                return running.returncode, output, peak_mb


if __name__ == "__main__":
    sys.exit(main())
