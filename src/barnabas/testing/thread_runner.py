"""Runs a broker in a thread with its own event loop: the fastest start, for tests that do not kill it.

With a virtual clock, everything the broker does happens on that loop, and no time passes by itself. Only waiting
requests, throttling and retries are in real time, because the clients are.
"""

import asyncio
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.testing.runner import BrokerDidNotStart

if TYPE_CHECKING:
    from barnabas.node.broker_node import BrokerNode
    from barnabas.testing.clock import VirtualClock

START_TIMEOUT_S = 30.0


class ThreadRunner:
    def __init__(self, clock: "VirtualClock | None" = None) -> None:
        self._clock = clock
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_asked: asyncio.Event | None = None
        self._ready = threading.Event()
        self._port = 0
        self._failure: BaseException | None = None

    def start(self, properties: Mapping[str, str]) -> int:
        self._ready.clear()
        self._thread = threading.Thread(target=self._run, args=(dict(properties),), name="barnabas-broker", daemon=True)
        self._thread.start()
        if not self._ready.wait(START_TIMEOUT_S):
            raise BrokerDidNotStart(f"the broker is not ready after {START_TIMEOUT_S:.0f} s")
        if (failure := self._take_failure()) is not None:
            raise BrokerDidNotStart(str(failure)) from failure
        return self._port

    def stop(self) -> None:
        thread, self._thread = self._thread, None
        if thread is None or self._loop is None or self._stop_asked is None:
            return
        if thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop_asked.set)
            thread.join()
        if (failure := self._take_failure()) is not None:
            raise RuntimeError("the broker failed while it ran or stopped") from failure

    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _take_failure(self) -> BaseException | None:
        failure, self._failure = self._failure, None
        return failure

    def _run(self, properties: dict[str, str]) -> None:
        try:
            if self._clock is None:
                self._run_in_real_time(properties)
            else:
                self._run_in_virtual_time(properties, self._clock)
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    def _run_in_real_time(self, properties: dict[str, str]) -> None:
        import uvloop

        from barnabas.node.broker_node import BrokerNode

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve(BrokerNode(properties)))

    def _run_in_virtual_time(self, properties: dict[str, str], clock: "VirtualClock") -> None:
        from barnabas.env import InlineWorkers, SystemClock
        from barnabas.node.broker_node import BrokerNode
        from barnabas.testing.clock_driver import ClockDriver, IdleSelector

        selector = IdleSelector()
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
            driver = ClockDriver(clock, runner.get_loop(), selector)
            try:
                node = BrokerNode(properties, clock=clock, wait_clock=SystemClock(), workers=InlineWorkers())
                runner.run(self._serve(node))
            finally:
                driver.close()

    async def _serve(self, node: "BrokerNode") -> None:
        self._loop = asyncio.get_running_loop()
        self._stop_asked = asyncio.Event()
        await node.start()
        self._port = node.port
        self._ready.set()
        await self._stop_asked.wait()
        await node.stop()
