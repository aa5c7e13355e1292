"""Runs a broker in a thread with an event loop of its own: the fastest start, for tests that do not kill it."""

import asyncio
import threading
from collections.abc import Mapping

from barnabas.testing.runner import BrokerDidNotStart

START_TIMEOUT_S = 30.0


class ThreadRunner:
    def __init__(self) -> None:
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
            with asyncio.Runner(loop_factory=_new_loop) as runner:
                runner.run(self._serve(properties))
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self, properties: dict[str, str]) -> None:
        from barnabas.node.broker_node import BrokerNode

        self._loop = asyncio.get_running_loop()
        self._stop_asked = asyncio.Event()
        node = BrokerNode(properties)
        await node.start()
        self._port = node.port
        self._ready.set()
        await self._stop_asked.wait()
        await node.stop()


def _new_loop() -> asyncio.AbstractEventLoop:
    import uvloop

    return uvloop.new_event_loop()
