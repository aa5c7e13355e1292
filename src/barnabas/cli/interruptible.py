"""Calls into librdkafka that Ctrl-C ends at once: by themselves they hear of it only when they return."""

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

_LOOK_EVERY_S = 0.1


def interruptible(call: Callable[[], T]) -> T:
    """What it returns or raises. It runs in a thread, which is left behind when this one is interrupted."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK_EVERY_S)
    if errors:
        raise errors[0]
    return results[0]
