"""Makes calls into librdkafka interruptible: Python handles Ctrl-C only when such a call returns."""

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

_LOOK_EVERY_S = 0.1


def interruptible(call: Callable[[], T]) -> T:
    """Run it in a thread, which is abandoned if Ctrl-C comes; returns or raises what it does."""
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
