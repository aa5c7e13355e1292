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


class Child:
    """A process that runs one function after another, so that modules keep their state between calls."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self._pool.submit(function, *args, **kwargs).result()


@contextmanager
def child_process() -> Iterator[Child]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield Child(pool)
