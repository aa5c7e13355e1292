"""`barnabas serve`: run a broker.

Uses argparse instead of typer, and imports modules only when they are needed, to start fast. Precedence: `--set` over
`--listen` and `--data-dir` over `--config` over the defaults.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from barnabas.cli.errors import CommandFailed, WrongUsage, suggestion
from barnabas.cli.pairs import parse_settings

DEFAULT_LISTEN = "localhost:9092"

_EXAMPLES = """\
examples:
  barnabas serve                                          on localhost:9092
  barnabas serve --listen 0.0.0.0:9092 --data-dir ./data
  barnabas serve --config server.properties --set num.partitions=6
"""


def serve(arguments: Sequence[str]) -> int:
    """Run until SIGTERM or Ctrl-C; returns the exit status."""
    options = argument_parser().parse_args(arguments)
    properties = broker_properties(options)
    _start_logging(options.log_level)

    from barnabas.node.errors import StartError
    from barnabas.node.run import run_broker

    try:
        return run_broker(properties, announce=lambda line: print(line, flush=True))
    except StartError as error:
        raise CommandFailed(str(error)) from error


def broker_properties(options: argparse.Namespace) -> dict[str, str]:
    properties: dict[str, str] = {}
    if options.config is not None:
        from barnabas.cli.property_file import read_property_file

        properties = read_property_file(options.config)
    if options.listen is not None or "listeners" not in properties:
        properties["listeners"] = f"PLAINTEXT://{_checked_address(options.listen or DEFAULT_LISTEN)}"
    if options.data_dir is not None or not {"log.dirs", "log.dir"} & properties.keys():
        properties.pop("log.dir", None)
        properties["log.dirs"] = os.path.abspath(options.data_dir or default_data_dir())
    return properties | parse_settings("--set", options.set)


def default_data_dir() -> str:
    """By the XDG convention, whatever the current directory is."""
    data_home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(data_home, "barnabas")


def _checked_address(address: str) -> str:
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdecimal() or (":" in host and not host.startswith("[")):
        raise CommandFailed(
            f"--listen needs HOST:PORT, not {address!r}", hint="write localhost:9092, or [::1]:9092 for IPv6"
        )
    if len(port) > 5 or int(port) > 65535:
        raise CommandFailed(f"{port} is not a port", hint="choose one from 1 to 65535, or 0 for any free port")
    return address


def _start_logging(level: str) -> None:
    import logging

    logging.basicConfig(
        level=level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )


def argument_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="barnabas serve",
        description="Run a broker. It is ready when it says so; Ctrl-C or SIGTERM stops it cleanly.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help=f"where clients connect [default: {DEFAULT_LISTEN}]; port 0 picks a free one",
    )
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        help="where records are kept [default: $XDG_DATA_HOME/barnabas or ~/.local/share/barnabas]",
    )
    parser.add_argument("--config", metavar="FILE", help="a properties file with Kafka's names for the settings")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        help="one setting; may be repeated; durations and sizes may have units, like log.retention.ms=7d",
    )
    parser.add_argument(
        "--log-level",
        metavar="LEVEL",
        type=str.lower,
        choices=("debug", "info", "warning", "error"),
        default="warning",
        help="what to log on stderr: debug, info, warning, error [default: warning]",
    )
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """With a suggestion for a misspelled flag."""
        hint = "see barnabas serve --help"
        if message.startswith("unrecognized arguments: "):
            unknown = message.removeprefix("unrecognized arguments: ").split()[0].partition("=")[0]
            hint = suggestion(unknown, self._option_string_actions, hint)
            message = f"barnabas serve does not take {unknown}"
        raise WrongUsage(message, hint=hint)
