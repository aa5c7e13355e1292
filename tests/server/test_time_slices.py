"""Long work is split: between two time slices others run, and only one long task continues at a time."""

import asyncio
from itertools import pairwise

from barnabas.env.time_slices import TimeSlices


def run_together(works: int, steps: int, time_slices: TimeSlices) -> list[tuple[str, int]]:
    """The order of events: steps of several long jobs, and iterations of the loop that another task saw."""
    done: list[tuple[str, int]] = []

    async def work(name: str) -> None:
        time_slice = await time_slices.wait()
        for step in range(steps):
            done.append((name, step))
            if time_slice.is_over():
                await time_slices.next(time_slice)

    async def everybody() -> None:
        loop = asyncio.get_running_loop()
        tasks = [asyncio.ensure_future(work(f"work {index}")) for index in range(works)]

        def tick(count: int = 0) -> None:
            done.append(("tick", count))
            if not all(task.done() for task in tasks):
                loop.call_soon(tick, count + 1)

        tick()
        await asyncio.gather(*tasks)

    asyncio.run(everybody())
    return done


def test_others_are_served_between_two_steps() -> None:
    done = run_together(1, 5, TimeSlices(slice_s=0))
    steps = [index for index, (name, _) in enumerate(done) if name == "work 0"]
    for step, next_step in pairwise(steps):
        assert "tick" in {name for name, _ in done[step:next_step]}, done


def test_of_many_long_works_one_step_is_done_between_two_rounds_of_the_others() -> None:
    done = run_together(10, 5, TimeSlices(slice_s=0))
    assert sum(name != "tick" for name, _ in done) == 50
    in_a_row = 0
    for name, _ in done:
        in_a_row = 0 if name == "tick" else in_a_row + 1
        assert in_a_row <= 1, done


def test_a_time_slice_is_used_up_before_others_run() -> None:
    done = run_together(1, 5, TimeSlices(slice_s=3600))
    first = done.index(("work 0", 0))
    assert done[first : first + 5] == [("work 0", step) for step in range(5)]


def test_a_cancelled_task_leaves_its_time_slice_to_the_next() -> None:
    async def scenario() -> None:
        time_slices = TimeSlices()
        impatient, patient = asyncio.ensure_future(time_slices.wait()), asyncio.ensure_future(time_slices.wait())
        await asyncio.sleep(0)
        impatient.cancel()
        time_slice = await asyncio.wait_for(patient, 10)
        assert not time_slice.is_over()

    asyncio.run(scenario())
