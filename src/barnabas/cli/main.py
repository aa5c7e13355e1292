"""The entry point: `barnabas [OPTIONS] COMMAND ...`.

Options before the command are passed on to it: `barnabas -b H topic list` is `barnabas topic list -b H`. Expected
errors are shown as `error:` and `hint:`, without a traceback.
"""

import importlib
import os
import sys
from collections.abc import Sequence

from barnabas import __version__
from barnabas.cli.commands import COMMANDS, SERVE, VERSION
from barnabas.cli.errors import CommandFailed, WrongUsage, show, suggestion
from barnabas.cli.kafka.scripts import SCRIPTS, run_script

# 128 and the signal's number, as shells report it: SIGINT, SIGPIPE.
EXIT_INTERRUPTED = 130
EXIT_NOBODY_READS = 141

_HANDED_ON = {"-b": "--bootstrap-server", "--bootstrap-server": "--bootstrap-server", "--profile": "--profile"}
_HELP = ("-h", "--help", "help")
_VERSION = ("-V", "--version", VERSION)


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """The exit status."""
    try:
        return _dispatch(list(arguments))
    except CommandFailed as error:
        show(error)
        return error.exit_status
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # as in `| head`; without this, Python would complain again when it flushes stdout at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_NOBODY_READS
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0
    except Exception as error:
        if was_interrupted(error):
            return EXIT_INTERRUPTED
        raise


def was_interrupted(error: BaseException | None) -> bool:
    """Ctrl-C inside confluent-kafka's C code, or inside a lock, surfaces as another error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _dispatch(arguments: list[str]) -> int:
    handed_on, rest = _leading_options(arguments)
    if not rest or rest[0] in _HELP:
        if rest[1:]:  # of a command
            return _call(rest[1], [*rest[2:], "--help"], [])
        from barnabas.cli.overview import overview

        print(overview(), end="", file=sys.stdout if rest else sys.stderr)
        return 0 if rest else WrongUsage.exit_status
    if rest[0] in _VERSION:
        print(f"barnabas {__version__}")
        return 0
    return _call(rest[0], rest[1:], handed_on)


def _leading_options(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The options to pass on, and the command with its arguments."""
    handed_on: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] not in (*_HELP, *_VERSION):
        flag, equals, value = rest.pop(0).partition("=")
        if flag not in _HANDED_ON:
            known = [*_HANDED_ON, *_HELP, *_VERSION]
            raise WrongUsage(f"barnabas has no option {flag}", hint=suggestion(flag, known, "see barnabas --help"))
        if not equals:
            if not rest:
                raise WrongUsage(f"{flag} needs a value", hint=f"write barnabas {flag} VALUE COMMAND")
            value = rest.pop(0)
        handed_on += [_HANDED_ON[flag], value]
    return handed_on, rest


def _call(command: str, arguments: list[str], handed_on: list[str]) -> int:
    if command == "complete-names":  # for completion scripts only
        from barnabas.cli.completion_names import print_names

        return print_names(arguments)
    script = command.removesuffix(".sh")
    if script in SCRIPTS:
        return run_script(script, [*handed_on, *arguments])
    if command not in COMMANDS:
        hint = suggestion(script, COMMANDS, "see barnabas --help for all commands")
        raise WrongUsage(f"there is no command {command}", hint=hint)
    if command == SERVE:  # uses argparse, to start a broker 40 ms faster than with typer
        from barnabas.cli.serve import serve

        return serve([*handed_on, *arguments])

    from barnabas.cli.apps import run_app

    app = importlib.import_module(f"barnabas.cli.{command}").app
    return run_app(app, command, arguments, handed_on)
