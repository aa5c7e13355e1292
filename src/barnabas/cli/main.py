"""The door: `barnabas COMMAND`.

`serve` is let through before typer is imported, because 40 ms of a broker's start are worth a line; so are Kafka's
scripts, which read their own flags. Everything else goes to the typer application. Whatever happens, a person sees a
sentence and never a traceback of ours.
"""

import os
import sys
from collections.abc import Sequence

from barnabas.cli.errors import CommandFailed, show

# 128 and the signal's number, as shells report it: SIGINT, SIGPIPE.
EXIT_INTERRUPTED = 130
EXIT_NOBODY_READS = 141


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    command = arguments[0] if arguments else ""
    try:
        if command == "serve":
            from barnabas.cli.serve import serve

            return serve(arguments[1:])
        if command.startswith("kafka-"):
            from barnabas.cli.kafka.scripts import SCRIPTS, run_script

            if command in SCRIPTS:
                return run_script(command, arguments[1:])
        from barnabas.cli.app import app

        app(arguments, prog_name="barnabas")
    except CommandFailed as error:
        show(error)
        return 1
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # `| head` has seen enough; Python would complain once more when it flushes at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_NOBODY_READS
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0
    return 0
