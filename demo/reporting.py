"""How an actor talks to the stage: JSON lines on stdout, and the end of its stdin tells it to finish.

A stage that dies takes its pipes with it, so no actor is left behind.
"""

import json
import os
import sys
import threading


def report(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


def end_of_stdin() -> threading.Event:
    """Set when the stage closes our stdin."""
    ended = threading.Event()

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1024):  # not through a buffer, which an ending program could not close
            pass
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    return ended
