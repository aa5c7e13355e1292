"""An asyncio event loop on virtual time: one per process of a simulated node.

Callbacks keep the order that asyncio promises. Tasks that are ready at the same time run in a seeded order, which
asyncio does not promise; `shuffles_tasks=False` keeps theirs, too. An exception in a callback ends the run, unless the
process has set an exception handler.

The loop ends with its process: then nothing that was scheduled runs, and what its code still tries has no effect.
"""

import asyncio
import math
import socket
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, TypeVarTuple, Unpack

from barnabas.testing.disk import PowerCut
from barnabas.testing.simulation.errors import ProcessEnded
from barnabas.testing.simulation.scheduler import Scheduler
from barnabas.testing.simulation.trace import describe_callback

if TYPE_CHECKING:
    from barnabas.testing.simulation.network import Host, Network

T = TypeVar("T")
Args = TypeVarTuple("Args")

_END_ATTEMPTS: Final = 100
_TASKS_BEFORE_SWEEP: Final = 64
_EXECUTOR_US_MAX: Final = 2_000


class Process(Protocol):
    """What a loop needs to know of its process."""

    name: str
    host: "Host"
    network: "Network"

    def on_unhandled(self, message: str, error: BaseException | None) -> None: ...

    def run_blocking(self, call: Callable[[], T]) -> "asyncio.Future[T]": ...


class Callback(asyncio.Handle):
    __slots__ = ("target",)

    def __init__(
        self,
        target: Callable[..., object],
        arguments: Sequence[Any],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        super().__init__(target, arguments, loop, context)
        self.target = target

    def is_task_step(self) -> bool:
        return isinstance(getattr(self.target, "__self__", None), asyncio.Task)


class Alarm(asyncio.TimerHandle):
    __slots__ = ("_owner", "target")

    def __init__(
        self,
        when: float,
        target: Callable[..., object],
        arguments: Sequence[Any],
        loop: "SimulatedLoop",
        context: Context | None,
    ) -> None:
        super().__init__(when, target, arguments, loop, context)
        self.target = target
        self._owner = loop

    def fire(self) -> None:
        self._owner.enqueue(self)

    def is_task_step(self) -> bool:
        return False


class SimulatedLoop(asyncio.AbstractEventLoop):
    def __init__(self, scheduler: Scheduler, process: Process, *, shuffles_tasks: bool = True) -> None:
        self.process = process
        self.scheduler = scheduler
        self._random = scheduler.random_for(f"loop of {process.name}")
        self._shuffles_tasks = shuffles_tasks
        self._ready: deque[Callback | Alarm] = deque()
        self._is_listed = False
        self._is_paused = False
        self._has_ended = False
        self._tasks: list[weakref.ref[asyncio.Task[Any]]] = []
        self._sweep_at = _TASKS_BEFORE_SWEEP
        self._exception_handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None

    # --- running

    def enqueue(self, handle: Callback | Alarm) -> None:
        if self._has_ended:
            return
        self._ready.append(handle)
        if not self._is_listed and not self._is_paused:
            self._is_listed = True
            self.scheduler.make_ready(self)

    def run_next(self) -> bool:
        handle = self._take()
        if not handle.cancelled():
            self.scheduler.trace.add(self.scheduler.now_us, self.process.name, describe_callback(handle.target))
            asyncio._set_running_loop(self)
            try:
                handle._run()
            finally:
                asyncio._set_running_loop(None)
        self._is_listed = bool(self._ready) and not self._is_paused
        return self._is_listed

    def _take(self) -> Callback | Alarm:
        ready = self._ready
        if not self._shuffles_tasks or len(ready) == 1 or not ready[0].is_task_step():
            return ready.popleft()
        together = 1
        while together < len(ready) and ready[together].is_task_step():
            together += 1
        place = self._random.randrange(together)
        ready.rotate(-place)
        handle = ready.popleft()
        ready.rotate(place)
        return handle

    def pause(self) -> None:
        """SIGSTOP: what becomes ready waits."""
        self._is_paused = True
        if self._is_listed:
            self._is_listed = False
            self.scheduler.remove(self)

    def resume(self) -> None:
        self._is_paused = False
        if self._ready and not self._is_listed:
            self._is_listed = True
            self.scheduler.make_ready(self)

    def end(self) -> None:
        """The process has ended. From now on nothing of it runs."""
        self._has_ended = True
        self._ready.clear()
        self._exception_handler = None
        if self._is_listed:
            self._is_listed = False
            self.scheduler.remove(self)

    def drop_tasks(self) -> None:
        """End the coroutines of the ended process, in the order of their creation. Call it after `end`."""
        running = asyncio._get_running_loop()
        asyncio._set_running_loop(self)  # what their `finally` schedules must not land on the killer's loop
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # coroutines that were never awaited: nobody will
                for reference in self._tasks:
                    task = reference()
                    if task is not None and not task.done():
                        _end(task.get_coro())
                self._tasks.clear()
        finally:
            asyncio._set_running_loop(running)

    @property
    def has_ended(self) -> bool:
        return self._has_ended

    def unfinished_tasks(self) -> list[str]:
        tasks = [task for reference in self._tasks if (task := reference()) is not None and not task.done()]
        return [getattr(task.get_coro(), "__qualname__", "unnamed") for task in tasks]

    # --- asyncio: callbacks, timers, futures, tasks

    def time(self) -> float:
        return self.scheduler.now_us / 1_000_000

    def call_soon(
        self, callback: Callable[[Unpack[Args]], object], *args: *Args, context: Context | None = None
    ) -> asyncio.Handle:
        handle = Callback(callback, args, self, context)
        self.enqueue(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Args]], object], *args: *Args, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Args]], object],
        *args: *Args,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Args]], object],
        *args: *Args,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        alarm = Alarm(when, callback, args, self, context)
        if not self._has_ended:
            self.scheduler.add(max(math.ceil(round(when * 1_000_000, 3)), self.scheduler.now_us), alarm)
        return alarm

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Called by the handle. The scheduler skips it when its time comes."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, T] | Generator[Any, None, T], **options: Any) -> asyncio.Task[T]:
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self, **options)
        self._tasks.append(weakref.ref(task))
        if len(self._tasks) > self._sweep_at:
            self._tasks = [each for each in self._tasks if (known := each()) is not None and not known.done()]
            self._sweep_at = max(_TASKS_BEFORE_SWEEP, 2 * len(self._tasks))
        return task

    def get_task_factory(self) -> None:
        return None

    def run_in_executor(self, executor: Any, func: Callable[[Unpack[Args]], T], *args: *Args) -> asyncio.Future[T]:
        """The executor is not used: the node's own workers finish it, later on virtual time."""
        return self.process.run_blocking(lambda: func(*args))

    # --- asyncio: state and errors

    def is_running(self) -> bool:
        return asyncio._get_running_loop() is self

    def is_closed(self) -> bool:
        return self._has_ended

    def close(self) -> None:
        raise RuntimeError("the loop ends with its process: kill or stop the node")

    def stop(self) -> None:
        raise RuntimeError("the loop ends with its process: kill or stop the node")

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:
        if enabled:
            raise RuntimeError("debug mode measures with the machine's clock, which would leak into the run")

    def set_exception_handler(
        self, handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None
    ) -> None:
        self._exception_handler = handler

    def get_exception_handler(self) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None:
        return self._exception_handler

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.process.on_unhandled(str(context.get("message")), context.get("exception"))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._has_ended:
            return
        if self._exception_handler is None:
            self.default_exception_handler(context)
        else:
            self._exception_handler(self, context)

    async def shutdown_asyncgens(self) -> None:
        """Nothing waits for them: an unfinished one is closed with its last reference."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is none."""

    # --- asyncio: signals

    def add_signal_handler(self, sig: int, callback: Callable[[Unpack[Args]], object], *args: *Args) -> None:
        """Never called: a simulated node is stopped, killed and paused by its methods."""

    def remove_signal_handler(self, sig: int) -> bool:
        return False

    # --- asyncio: the network

    async def getaddrinfo(
        self, host: Any, port: Any, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> list[Any]:
        found = self.process.network.resolve(self.process.host, host)
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (found.address, int(port or 0)))]

    async def create_server(self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        from barnabas.testing.simulation.server import listen

        return await listen(self, protocol_factory, host, port, **options)

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> tuple[Any, Any]:
        from barnabas.testing.simulation.connecting import connect

        return await connect(self, protocol_factory, host, port, **options)


def _end(coroutine: Any) -> None:
    """Run what stands in `finally`; it has no effect outside any more, and whatever it waits for does not come."""
    for _ in range(_END_ATTEMPTS):
        try:
            coroutine.throw(ProcessEnded())
        except (Exception, ProcessEnded, PowerCut, asyncio.CancelledError):
            return
