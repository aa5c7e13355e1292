"""How a process of the demo reports: JSON lines on stdout. The end of its stdin tells it to finish.

If the demo dies, its pipes close, so no process is left behind.
"""

import json
import os
import sys
import threading


def report(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


def end_of_stdin() -> threading.Event:
    """Set when our stdin is closed."""
    ended = threading.Event()

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1024):  # unbuffered: a buffer could not be closed at exit
            pass
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    return ended
