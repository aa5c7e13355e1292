"""One trial: runs the whole workload with a crash in it, and checks that everything acknowledged is kept.

When the broker dies, the client reconnects and retries what was not answered, as any client does. A broker that keeps
refusing requests after an I/O error (a failed disk stays offline) is restarted, as an operator would do. After a full
disk, freeing space must be enough.
"""

import traceback
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from barnabas.env import Disk
from barnabas.testing.crash.files import verify_files
from barnabas.testing.crash.operations import Operation, init_producer
from barnabas.testing.crash.promises import Promises
from barnabas.testing.crash.running_broker import BrokerDied, NotReady, Refused, RunningBroker
from barnabas.testing.crash.verify import BrokenPromise, verify
from barnabas.testing.crash.workload import RESTART, Step, new_promises, script
from barnabas.testing.crashing_disk import CrashPoint

ATTEMPTS = 30
PAUSE_MS = 60
STARTS_MAX = 8
_COMPACTED = frozenset({"register", "receipt", "__consumer_offsets", "__transaction_state"})
# Longer than the interval of any chore.
_QUIET_MS = 700


class Host(Protocol):
    """Runs brokers one after another on the same disk."""

    data_dir: str
    disk: Disk
    """To check the files while no broker is running."""
    lossy: bool
    """A crash loses unsynced data."""

    async def start_broker(self, at: CrashPoint | None) -> RunningBroker:
        """Raises BrokerDied if it crashes during the start."""

    async def stop(self) -> None:
        """Cleanly."""

    async def end_broker(self) -> None:
        """End the broker if it is running, and apply the effect of the crash to the disk."""

    def make_room(self) -> None:
        """Free space on the disk."""

    @property
    def is_reached(self) -> bool:
        """Whether the crash point was reached."""


class Outcome(NamedTuple):
    points: tuple[CrashPoint, ...]
    reached: bool
    starts: int
    deaths: int
    restarts_by_hand: int
    failure: str | None


class Trial:
    def __init__(self, host: Host, points: Sequence[CrashPoint]) -> None:
        self._host = host
        self._points = tuple(points)
        self._waiting = deque(points)
        self._promises: Promises = new_promises()
        self._broker: RunningBroker | None = None
        self._unverified = False
        self.starts = 0
        self.deaths = 0
        self.restarts_by_hand = 0
        self.reached = False

    async def run(self) -> Outcome:
        failure = None
        try:
            todo: deque[Step] = deque([*script(), RESTART, self._verify_at_rest])
            while not await self._runs_to_the_end(todo):
                self.deaths += 1
                await self._host.end_broker()
                self._broker = None
                self._unverified = True
            verify_files(self._host.disk, self._host.data_dir, compacted=_COMPACTED)
        except Exception as error:  # any error is the result of this trial
            failure = f"{type(error).__name__}: {error}"
            if not isinstance(error, BrokenPromise):
                failure += f" ({traceback.extract_tb(error.__traceback__)[-1]})"
            await self._host.end_broker()
        return Outcome(self._points, self.reached, self.starts, self.deaths, self.restarts_by_hand, failure)

    async def _runs_to_the_end(self, todo: deque[Step]) -> bool:
        try:
            await self._continue(todo)
        except BrokerDied:
            return False
        return True

    async def _continue(self, todo: deque[Step]) -> None:
        """Continue the workload where the last broker ended, until it is done or the broker dies."""
        if self._broker is None:
            self._broker = await self._start_broker()
        if self._unverified:
            await self._verify_after_crash()
        while todo:
            step = todo[0]
            if isinstance(step, str):
                await self._stop()
                todo.popleft()
                self._broker = await self._start_broker()
            else:
                await self._with_retries(step)
                todo.popleft()
        await self._stop()

    async def _start_broker(self) -> RunningBroker:
        self.starts += 1
        if self.starts > STARTS_MAX:
            raise BrokenPromise(f"the broker was started {self.starts} times")
        if self._host.is_reached and self._waiting:
            self.reached = True
            self._waiting.popleft()
        return await self._host.start_broker(self._waiting[0] if self._waiting else None)

    async def _stop(self) -> None:
        await self._host.stop()
        self.reached = self.reached or self._host.is_reached

    async def _verify_after_crash(self) -> None:
        lossy = self._host.lossy

        async def verify_once(broker: RunningBroker, promises: Promises) -> None:
            await verify(broker, promises, lossy=lossy)

        await self._with_retries(verify_once)
        self._unverified = False
        if lossy:  # acknowledged records may be lost, so the producer must start over
            self._promises.member = None
            await self._with_retries(init_producer)

    async def _verify_at_rest(self, broker: RunningBroker, promises: Promises) -> None:
        await verify(broker, promises, lossy=False)
        await broker.pass_ms(_QUIET_MS)

    async def _with_retries(self, operation: Operation) -> None:
        assert self._broker is not None
        refusal: Refused | None = None
        for attempt in range(ATTEMPTS):
            try:
                await operation(self._broker, self._promises)
            except Refused as error:
                refusal = error
            else:
                return
            if attempt == 2:
                self._host.make_room()
            await self._broker.pass_ms(PAUSE_MS)
        may_need_restart = self._host.is_reached and self._waiting and self._waiting[0].moment == "error"
        if isinstance(refusal, NotReady) or not may_need_restart or self.restarts_by_hand:
            raise BrokenPromise(f"the broker keeps refusing: {refusal}")
        self.restarts_by_hand += 1
        raise BrokerDied(str(refusal))
