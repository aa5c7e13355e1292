"""`python -m barnabas.testing.crashing_serve`: `barnabas serve` on a disk that kills it, with the same options.

    BARNABAS_CRASH_AT="roll: create .log#2/after"   SIGKILL itself there (see `crashing_disk`)
    BARNABAS_CRASH_STEPS=/tmp/steps                 append the name of every step, one per line

Only this entry point reads these variables; `barnabas serve` does not.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable

from barnabas.env import RealDisk
from barnabas.node.errors import StartError
from barnabas.node.run import run_broker
from barnabas.testing.crashing_disk import CrashingDisk, CrashPoint


def main() -> int:
    parser = argparse.ArgumentParser(prog="crashing_serve", description="A broker that kills itself at a named step.")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="a setting, by Kafka's name")
    properties = dict(pair.split("=", 1) for pair in parser.parse_args().set)
    at = os.environ.get("BARNABAS_CRASH_AT")
    disk = CrashingDisk(
        RealDisk(),
        at=CrashPoint.parse(at) if at else None,
        die=lambda: os.kill(os.getpid(), signal.SIGKILL),
        on_step=_note_steps(os.environ.get("BARNABAS_CRASH_STEPS")),
    )
    try:
        return run_broker(properties, disk=disk, announce=lambda line: print(line, flush=True))
    except StartError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _note_steps(path: str | None) -> Callable[[str], None]:
    if path is None:
        return lambda _: None
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    return lambda step: (os.write(fd, f"{step}\n".encode()), None)[1]


if __name__ == "__main__":
    sys.exit(main())
