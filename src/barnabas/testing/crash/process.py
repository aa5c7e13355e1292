"""Broker processes on a real disk that kill themselves (SIGKILL) at the crash point."""

import asyncio
import os
import shutil
import tempfile
from collections import Counter
from typing import Any, Final

from barnabas.env import Disk, RealDisk
from barnabas.testing.broker import Broker
from barnabas.testing.crash.connection import Connection
from barnabas.testing.crash.running_broker import BrokerDied
from barnabas.testing.crash.workload import PROPERTIES
from barnabas.testing.crashing_disk import CrashPoint
from barnabas.testing.runner import BrokerDidNotStart

ANSWER_SECONDS_MAX: Final = 20.0
DEATH_SECONDS_MAX: Final = 5.0


class ProcessHost:
    lossy = False

    def __init__(self) -> None:
        self._home = tempfile.mkdtemp(prefix="barnabas-crash-")
        self._steps_path = os.path.join(self._home, "steps")
        self._broker = Broker(process=True, properties=PROPERTIES, data_dir=os.path.join(self._home, "data"))
        self.data_dir = self._broker.data_dir
        self.disk: Disk = RealDisk()
        self.is_reached = False
        self._armed = False
        self._running: BrokerProcess | None = None

    @property
    def steps(self) -> Counter[str]:
        """How often each step occurred, by name, over all starts."""
        with open(self._steps_path) as file:
            return Counter(file.read().splitlines())

    async def start_broker(self, at: CrashPoint | None) -> "BrokerProcess":
        self._armed = at is not None
        self._broker.crash_at(None if at is None else str(at), steps_path=self._steps_path)
        try:
            await asyncio.to_thread(self._broker.start)
            self._running = BrokerProcess(self._broker, await Connection.open(self._broker.port))
        except (BrokerDidNotStart, ConnectionError) as error:
            if at is None:
                raise
            self.is_reached = True
            raise BrokerDied("at its start") from error
        return self._running

    async def stop(self) -> None:
        self._disconnect()
        try:
            await asyncio.to_thread(self._broker.stop)
        except RuntimeError as error:  # its exit status was not 0
            self.is_reached = True
            raise BrokerDied("at its stop") from error

    async def end_broker(self) -> None:
        self._disconnect()
        # Its connections are closed before the process has ended.
        if await asyncio.to_thread(self._broker.wait_for_end, DEATH_SECONDS_MAX if self._armed else 0.0):
            self.is_reached = True
        else:
            self._broker.kill()

    def make_room(self) -> None:
        """Not needed: the disk of a process is never full here."""

    def close(self) -> None:
        self._disconnect()
        self._broker.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def _disconnect(self) -> None:
        if self._running is not None:
            self._running.disconnect()
            self._running = None


class BrokerProcess:
    def __init__(self, broker: Broker, connection: Connection) -> None:
        self._broker = broker
        self._connection = connection

    async def call(self, api_name: str, version: int, request: object) -> Any:
        try:
            return await asyncio.wait_for(self._connection.call(api_name, version, request), ANSWER_SECONDS_MAX)
        except ConnectionError as error:
            raise BrokerDied(f"during {api_name}") from error

    async def pass_ms(self, duration_ms: int) -> None:
        await asyncio.sleep(duration_ms / 1000)
        if not self._broker.is_running():
            raise BrokerDied("doing its chores")

    def disconnect(self) -> None:
        self._connection.close()
