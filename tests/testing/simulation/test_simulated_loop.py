"""The event loop on virtual time: order, timers, cancellation, exceptions, deadlocks."""

import asyncio
import time
from typing import Any

import pytest

from barnabas.testing.simulation import Deadlock, Simulation, TimeLimitReached, UnhandledException


def test_virtual_time_jumps() -> None:
    simulation = Simulation(1)
    before = time.monotonic()
    simulation.run(asyncio.sleep(7 * 3600))
    assert simulation.now_ms == 7 * 3600 * 1000
    assert time.monotonic() - before < 5


def test_callbacks_keep_their_order_and_timers_their_time() -> None:
    simulation = Simulation(1)
    seen: list[object] = []

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(0.2, seen.append, "late")
        loop.call_later(0.1, seen.append, "early")
        loop.call_later(0.15, seen.append, "cancelled").cancel()
        for number in range(5):
            loop.call_soon(seen.append, number)
        loop.call_soon(seen.append, "cancelled").cancel()
        await asyncio.sleep(1)

    simulation.run(scenario())
    assert seen == [0, 1, 2, 3, 4, "early", "late"]


def order_of_tasks(seed: int, *, shuffles_tasks: bool = True) -> list[int]:
    simulation = Simulation(seed, shuffles_tasks=shuffles_tasks)
    order: list[int] = []

    async def note(number: int) -> None:
        await asyncio.sleep(0)
        order.append(number)

    async def scenario() -> None:
        await asyncio.gather(*(note(number) for number in range(10)))

    simulation.run(scenario())
    return order


def test_tasks_that_are_ready_together_run_in_an_order_from_the_seed() -> None:
    orders = [order_of_tasks(seed) for seed in range(5)]
    assert orders == [order_of_tasks(seed) for seed in range(5)]
    assert len({tuple(order) for order in orders}) == 5
    assert all(sorted(order) == list(range(10)) for order in orders)
    assert order_of_tasks(1, shuffles_tasks=False) == list(range(10))


def test_timers_of_one_moment_run_in_an_order_from_the_seed() -> None:
    def order(seed: int) -> list[int]:
        simulation = Simulation(seed)
        seen: list[int] = []

        async def scenario() -> None:
            loop = asyncio.get_running_loop()
            for number in range(10):
                loop.call_at(1.0, seen.append, number)
            await asyncio.sleep(2)

        simulation.run(scenario())
        return seen

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(5)}) > 1


def test_timeouts_and_cancellation_work_as_in_asyncio() -> None:
    simulation = Simulation(1)
    cleaned: list[str] = []

    async def wait_for_ever() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cleaned.append("cleaned")

    async def scenario() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await wait_for_ever()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wait_for_ever(), 30)
        task = asyncio.create_task(wait_for_ever())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    simulation.run(scenario())
    assert cleaned == ["cleaned"] * 3
    assert simulation.now_ms == 61_000


def test_an_executor_finishes_later() -> None:
    simulation = Simulation(1)

    async def scenario() -> tuple[int, float]:
        loop = asyncio.get_running_loop()
        before = loop.time()
        found = await loop.run_in_executor(None, lambda: 42)
        with pytest.raises(ZeroDivisionError):
            await loop.run_in_executor(None, lambda: 1 // 0)
        return found, loop.time() - before

    found, passed_s = simulation.run(scenario())
    assert found == 42
    assert passed_s > 0


async def raise_in_callback() -> None:
    asyncio.get_running_loop().call_soon(lambda: 1 // 0)
    await asyncio.sleep(1)


async def forget_failed_task() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    task = asyncio.create_task(fail())
    await asyncio.sleep(1)
    del task


@pytest.mark.parametrize("scenario", [raise_in_callback, forget_failed_task])
def test_no_exception_is_swallowed(scenario: Any) -> None:
    with pytest.raises(UnhandledException, match="ZeroDivisionError"):
        Simulation(1).run(scenario())


def test_an_exception_handler_of_the_program_gets_them() -> None:
    caught: list[object] = []

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: caught.append(context["exception"]))
        await raise_in_callback()

    Simulation(1).run(scenario())
    assert [type(error) for error in caught] == [ZeroDivisionError]


def test_a_failure_names_the_seed() -> None:
    async def fail() -> None:
        raise ValueError("a defect")

    with pytest.raises(ValueError, match="a defect") as caught:
        Simulation(4711).run(fail())
    assert "seed 4711" in caught.value.__notes__[0]


def test_a_deadlock_is_reported_with_what_waits() -> None:
    async def wait_for_nobody() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Deadlock, match="wait_for_nobody on driver"):
        Simulation(1).run(wait_for_nobody())


def test_a_run_has_a_limit_even_if_it_never_sleeps() -> None:
    async def spin() -> None:
        while True:  # noqa: ASYNC110 # it is what must not stop the time
            await asyncio.sleep(0)

    with pytest.raises(TimeLimitReached, match="spin on driver"):
        Simulation(1).run(spin(), limit_s=0.01)
