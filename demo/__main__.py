"""`python -m demo`."""

import argparse
import signal
import sys
from pathlib import Path

from demo.plan import Plan, add_options


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m demo", description="Telemetry, a pipeline, a proof and a replay.")
    parser.add_argument("--folder", type=Path, default=Path("demo-output"), help="replaced [default: demo-output]")
    add_options(parser)
    arguments = vars(parser.parse_args())
    folder: Path = arguments.pop("folder")
    # Stop all processes on SIGTERM.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    from demo.play import run

    return run(Plan(**arguments), folder.resolve())


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
