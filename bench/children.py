"""Runs a client in a process of its own, so that it shares neither an interpreter nor a lock with what watches it."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def in_child(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


@contextmanager
def beside(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Iterator["Future[T]"]:
    """Run it while the block runs; it ends by itself, and the block's end waits for that and for its error."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        future = pool.submit(function, *args, **kwargs)
        yield future
        future.result()
