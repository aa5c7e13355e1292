"""`python -m demo`."""

import argparse
import sys
from dataclasses import fields

from demo.play import Plan, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m demo", description="A broker, its clients, two kills and a proof.")
    for field in fields(Plan):
        option = "--" + field.name.replace("_", "-")
        parser.add_argument(option, type=type(field.default), default=field.default, help=f"[default: {field.default}]")
    return run(Plan(**vars(parser.parse_args())))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
