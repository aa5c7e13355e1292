"""Parses the command lines of the scripts with argparse, in the way of Kafka's joptsimple.

`--flag value` and `--flag=value`; a flag with one value may be given once; other words are ignored. A mistake ends with
status 1, as with Kafka's scripts. They then print their help page; ours print a hint. `--help` prints to stdout and
ends with status 0.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from barnabas import __version__
from barnabas.cli.errors import CommandFailed
from barnabas.cli.kafka.refused import REFUSED
from barnabas.cli.pairs import parse_pair
from barnabas.cli.property_file import read_property_file

KAFKA_VERSION = "4.3.1"


class UsageError(CommandFailed):
    """The command line is wrong; the exit status is 1, as with Kafka's scripts."""


class ScriptParser(argparse.ArgumentParser):
    def __init__(self, name: str, summary: str) -> None:
        super().__init__(prog=f"barnabas {name}", description=summary, allow_abbrev=False, add_help=False)
        self.script = name
        self._commands: tuple[str, ...] = ()
        self.add_argument("--help", action="help", help="print this and exit")
        version = f"{KAFKA_VERSION} (barnabas {__version__})"
        self.add_argument("--version", action="version", version=version, help="print the version and exit")
        for flag, reason in REFUSED.get(name, {}).items():
            self.add_argument(flag, nargs="?", action=_Refuse, reason=reason, help=f"refused: {reason}")

    def switch(self, flag: str, meaning: str) -> None:
        self.add_argument(flag, action="store_true", help=meaning)

    def value(self, flag: str, meaning: str, *, metavar: str = "TEXT", type: Any = str, default: Any = None) -> None:
        self.add_argument(flag, action=_Once, metavar=metavar, type=type, default=default, help=meaning)

    def values(self, flag: str, meaning: str, *, metavar: str = "TEXT") -> None:
        self.add_argument(flag, action="append", metavar=metavar, default=[], help=f"{meaning}; repeatable")

    def optional_value(self, flag: str, meaning: str, *, metavar: str, without: Any, type: Any = str) -> None:
        """`without`: the value if the flag has none; without the flag it is None."""
        self.add_argument(flag, nargs="?", const=without, metavar=metavar, type=type, help=meaning)

    def command(self, *names: str) -> None:
        """Subcommands. Kafka expects connection flags before them, and other flags after."""
        self._commands = names
        self.add_argument("command", nargs="?", metavar="COMMAND", help=", ".join(names))
        self.alias("-h", "--help")

    def alias(self, short: str, long: str) -> None:
        action = self._option_string_actions[long]
        action.option_strings = [*action.option_strings, short]
        self._option_string_actions[short] = action

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        options, unknown = self.parse_known_args(list(arguments))
        for word in unknown:
            if word.startswith("--"):
                self.error(f"{word.partition('=')[0].lstrip('-')} is not a recognized option")
        if self._commands and options.command is None:
            self.error(f"a command is missing: {', '.join(self._commands)}")
        if self._commands and options.command not in self._commands:
            self.error(f"{options.command} is not a command; the commands are {', '.join(self._commands)}")
        return options

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see {self.prog} --help")

    def require(self, options: argparse.Namespace, *flags: str) -> None:
        for flag in flags:
            if getattr(options, name_of(flag)) in (None, [], False):
                self.error(f"missing required argument {flag}")


class _Once(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        given = vars(namespace).setdefault("_given", set())
        if self.dest in given:
            parser.error(f"{option_string} was given more than once")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class _Refuse(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, reason: str, **rest: Any) -> None:
        super().__init__(option_strings, dest, **rest)
        self.reason = reason

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        raise UsageError(f"{option_string} is refused: {self.reason}", hint=f"see {parser.prog} --help")


def name_of(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


def was_given(options: argparse.Namespace, flag: str) -> bool:
    return name_of(flag) in vars(options).get("_given", ())


def add_connection(parser: ScriptParser) -> None:
    parser.value("--bootstrap-server", "addresses of brokers", metavar="HOST:PORT,...")
    parser.value("--command-config", "a properties file for the client", metavar="FILE")


def collect_properties(files: Sequence[str | None], pairs: Sequence[tuple[str, Sequence[str]]]) -> dict[str, str]:
    """Properties from files and from KEY=VALUE flags; flags win."""
    found: dict[str, str] = {}
    for path in files:
        if path is not None:
            found.update(read_property_file(path))
    for flag, texts in pairs:
        found.update(parse_pair(flag, text if "=" in text else f"{text}=") for text in texts)
    return found


def deprecated(flag: str, instead: str) -> None:
    print(
        f"Option {flag} is deprecated and will be removed in a future version. Use {instead} instead.", file=sys.stderr
    )
