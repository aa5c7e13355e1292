"""Runs a client in its own process, so that it does not share an interpreter with the code that measures it."""

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
def running_alongside(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Iterator["Future[T]"]:
    """Run the function in a child process during the block, then wait for its end and raise its error."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        future = pool.submit(function, *args, **kwargs)
        yield future
        future.result()
