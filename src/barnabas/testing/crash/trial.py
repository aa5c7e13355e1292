"""One trial: the workload from its first step to its last, with a crash on the way, and what was promised checked.

A client whose broker dies connects to the next one and asks again what was not answered, as any client does. A broker
that keeps refusing after an error (a failed disk stays offline) is restarted by its operator; a full disk is made room
on, and that must do.
"""

import traceback
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from barnabas.env import Disk
from barnabas.testing.crash.files import verify_files
from barnabas.testing.crash.life import BrokerDied, Life, NotYet, Refused
from barnabas.testing.crash.operations import Operation, init_producer
from barnabas.testing.crash.promises import Promises
from barnabas.testing.crash.verify import Broken, verify
from barnabas.testing.crash.workload import RESTART, Step, new_promises, script
from barnabas.testing.crashing_disk import CrashPoint

ATTEMPTS = 30
PAUSE_MS = 60
LIVES_MAX = 8
_COMPACTED = frozenset({"register", "receipt", "__consumer_offsets", "__transaction_state"})
# More than any chore's interval: what was to be tidied up is tidied up.
_QUIET_MS = 700


class Host(Protocol):
    """Where brokers live and die, one after another, on one disk."""

    data_dir: str
    disk: Disk
    """For a look at the files while no broker runs."""
    lossy: bool
    """A death takes what was not synced."""

    async def boot(self, at: CrashPoint | None) -> Life:
        """BrokerDied if that is when it dies."""

    async def stop(self) -> None:
        """Cleanly."""

    async def bury(self) -> None:
        """End the broker, if it is not dead, and do to the disk what its death does."""

    def make_room(self) -> None:
        """The disk is full no longer."""

    @property
    def struck(self) -> bool:
        """Whether the crash point was reached."""


class Outcome(NamedTuple):
    points: tuple[CrashPoint, ...]
    reached: bool
    lives: int
    deaths: int
    restarts_by_hand: int
    failure: str | None


class Trial:
    def __init__(self, host: Host, points: Sequence[CrashPoint]) -> None:
        self._host = host
        self._points = tuple(points)
        self._waiting = deque(points)
        self._promises: Promises = new_promises()
        self._life: Life | None = None
        self._unverified = False
        self.lives = 0
        self.deaths = 0
        self.restarts_by_hand = 0
        self.reached = False

    async def run(self) -> Outcome:
        failure = None
        try:
            todo: deque[Step] = deque([*script(), RESTART, self._verify_at_rest])
            while not await self._ends_well(todo):
                self.deaths += 1
                await self._host.bury()
                self._life = None
                self._unverified = True
            verify_files(self._host.disk, self._host.data_dir, compacted=_COMPACTED)
        except Exception as error:  # whatever it is, it is the result of this trial
            failure = f"{type(error).__name__}: {error}"
            if not isinstance(error, Broken):
                failure += f" ({traceback.extract_tb(error.__traceback__)[-1]})"
            await self._host.bury()
        return Outcome(self._points, self.reached, self.lives, self.deaths, self.restarts_by_hand, failure)

    async def _ends_well(self, todo: deque[Step]) -> bool:
        try:
            await self._go_on(todo)
        except BrokerDied:
            return False
        return True

    async def _go_on(self, todo: deque[Step]) -> None:
        """From wherever the last life ended, as far as this one goes."""
        if self._life is None:
            self._life = await self._boot()
        if self._unverified:
            await self._verify_after_death()
        while todo:
            step = todo[0]
            if isinstance(step, str):
                await self._stop()
                todo.popleft()
                self._life = await self._boot()
            else:
                await self._patiently(step)
                todo.popleft()
        await self._stop()

    async def _boot(self) -> Life:
        self.lives += 1
        if self.lives > LIVES_MAX:
            raise Broken(f"the broker died {self.lives} times")
        if self._host.struck and self._waiting:
            self.reached = True
            self._waiting.popleft()
        return await self._host.boot(self._waiting[0] if self._waiting else None)

    async def _stop(self) -> None:
        await self._host.stop()
        self.reached = self.reached or self._host.struck

    async def _verify_after_death(self) -> None:
        lossy = self._host.lossy

        async def look(life: Life, promises: Promises) -> None:
            await verify(life, promises, lossy=lossy)

        await self._patiently(look)
        self._unverified = False
        if lossy:  # what is gone was promised to this producer, which must not go on as if it were there
            self._promises.member = None
            await self._patiently(init_producer)

    async def _verify_at_rest(self, life: Life, promises: Promises) -> None:
        await verify(life, promises, lossy=False)
        await life.pass_ms(_QUIET_MS)

    async def _patiently(self, operation: Operation) -> None:
        assert self._life is not None
        refusal: Refused | None = None
        for attempt in range(ATTEMPTS):
            try:
                await operation(self._life, self._promises)
            except Refused as error:
                refusal = error
            else:
                return
            if attempt == 2:
                self._host.make_room()
            await self._life.pass_ms(PAUSE_MS)
        may_need_restart = self._host.struck and self._waiting and self._waiting[0].moment == "error"
        if isinstance(refusal, NotYet) or not may_need_restart or self.restarts_by_hand:
            raise Broken(f"the broker keeps refusing: {refusal}")
        self.restarts_by_hand += 1
        raise BrokerDied(str(refusal))
