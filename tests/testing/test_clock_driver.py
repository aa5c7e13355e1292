"""A virtual clock whose timers run on a loop in another thread: `advance` returns once what was due is done."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from barnabas.testing import Broker, VirtualClock
from barnabas.testing.clock import START_MS
from barnabas.testing.clock_driver import EXACT_MS, ClockDriver, IdleSelector
from barnabas.testing.runner import BrokerDidNotStart

WEEK_MS = 7 * 24 * 3600 * 1000


class Driven:
    """A clock, and the loop in another thread that it drives."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        selector = IdleSelector()
        self.loop = asyncio.SelectorEventLoop(selector)
        self.driver = ClockDriver(self.clock, self.loop, selector)
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def do(self, work: Callable[[], Any]) -> Any:
        async def on_loop() -> Any:
            return work()

        return asyncio.run_coroutine_threadsafe(on_loop(), self.loop).result(10)

    def close(self) -> None:
        self.do(self.driver.close)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@pytest.fixture
def driven() -> Iterator[Driven]:
    driven = Driven()
    yield driven
    driven.close()


def test_what_a_timer_sets_going_is_done_when_advance_returns(driven: Driven) -> None:
    done: list[int] = []

    async def chore() -> None:
        await driven.clock.sleep_ms(100)
        for _ in range(1_000):  # far more iterations of the loop than a fixed count would allow
            await asyncio.sleep(0)
        done.append(driven.clock.monotonic_ms())

    task = driven.do(lambda: asyncio.ensure_future(chore()))
    driven.clock.advance(99)
    assert not done
    driven.clock.advance(timedelta(milliseconds=1))
    assert done == [100]
    assert driven.clock.now_ms() == START_MS + 100
    assert task.done()


def test_in_the_last_minutes_each_timer_runs_at_its_own_time(driven: Driven) -> None:
    seen: list[int] = []

    async def chore() -> None:
        while True:
            await driven.clock.sleep_ms(15_000)
            seen.append(driven.clock.monotonic_ms())

    task = driven.do(lambda: asyncio.ensure_future(chore()))
    driven.clock.advance(EXACT_MS)
    assert seen == list(range(15_000, EXACT_MS + 1, 15_000))
    driven.do(task.cancel)
    driven.clock.advance(0)


def test_a_week_is_gone_in_leaps_and_nothing_is_early(driven: Driven) -> None:
    late: list[tuple[int, int]] = []
    chores = 0

    def note(due_ms: int) -> Callable[[], None]:
        return lambda: late.append((due_ms, driven.clock.monotonic_ms()))

    def chore() -> None:
        nonlocal chores
        chores += 1
        driven.clock.call_later(15_000, chore)

    def begin() -> None:
        for due_ms in (45_000, WEEK_MS // 2, WEEK_MS - 1, WEEK_MS, WEEK_MS + 1):
            driven.clock.call_later(due_ms, note(due_ms))
        driven.clock.call_later(15_000, chore)

    driven.do(begin)
    driven.clock.advance(WEEK_MS)
    assert [due_ms for due_ms, _ in late] == [45_000, WEEK_MS // 2, WEEK_MS - 1, WEEK_MS]
    assert all(ran_ms >= due_ms for due_ms, ran_ms in late)
    assert late[2:] == [(WEEK_MS - 1, WEEK_MS - 1), (WEEK_MS, WEEK_MS)]
    assert EXACT_MS // 15_000 <= chores < 200


def test_what_is_due_at_once_needs_no_advance(driven: Driven) -> None:
    happened = threading.Event()
    driven.do(lambda: driven.clock.call_later(0, happened.set))
    assert happened.wait(10)
    assert driven.clock.monotonic_ms() == 0


def test_a_timer_that_fails_is_reported_and_the_others_run(driven: Driven) -> None:
    reported: list[Any] = []
    seen: list[int] = []

    def fail() -> None:
        raise RuntimeError("on purpose")

    def begin() -> None:
        driven.loop.set_exception_handler(lambda loop, context: reported.append(context["exception"]))
        driven.clock.call_later(10, fail)
        driven.clock.call_later(20, lambda: seen.append(driven.clock.monotonic_ms()))

    driven.do(begin)
    driven.clock.advance(30)
    assert seen == [20]
    assert [str(error) for error in reported] == ["on purpose"]


def test_what_was_sent_before_is_read_first_and_what_comes_meanwhile_afterwards(driven: Driven) -> None:
    ours, theirs = socket.socketpair()
    read: list[tuple[bytes, int]] = []
    both_read = threading.Event()

    def take() -> None:
        read.append((theirs.recv(100), driven.clock.monotonic_ms()))
        if len(read) == 2:
            both_read.set()

    def begin() -> None:
        theirs.setblocking(False)
        driven.loop.add_reader(theirs, take)
        driven.clock.call_later(10, lambda: ours.send(b"meanwhile"))
        ours.send(b"before")

    with ours, theirs:
        driven.do(begin)
        driven.clock.advance(1_000)
        assert both_read.wait(10)
        driven.do(lambda: driven.loop.remove_reader(theirs))
    assert read == [(b"before", 0), (b"meanwhile", 1_000)]


def test_several_threads_may_move_the_clock(driven: Driven) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(driven.clock.advance, [10] * 40))
    assert driven.clock.monotonic_ms() == 400


def test_time_does_not_go_back(driven: Driven) -> None:
    with pytest.raises(ValueError, match="set_wall_ms"):
        driven.clock.advance(-1)


# --- with a broker


def test_a_restarted_broker_goes_on_in_the_same_time() -> None:
    clock = VirtualClock(now_ms=1_000_000_000_000)
    with Broker(clock=clock) as broker:
        clock.advance(5)
        broker.restart()
        clock.advance(5)
        broker.stop()
        clock.advance(5)  # nobody is there to do anything
        broker.start()
        assert clock.now_ms() == 1_000_000_000_015
    clock.advance(5)


def test_a_clock_drives_one_broker() -> None:
    clock = VirtualClock()
    with Broker(clock=clock) as broker:
        with pytest.raises(BrokerDidNotStart, match="a VirtualClock of its own"), Broker(clock=clock):
            pass
        assert broker.is_running()
        clock.advance(1_000)


def test_a_process_has_no_virtual_clock() -> None:
    with pytest.raises(ValueError, match="leave out process=True"):
        Broker(process=True, clock=VirtualClock())
