"""Long work gives way: between two turns others are served, and of several long works one at a time goes on."""

import asyncio
from itertools import pairwise

from barnabas.env.turns import Turns


def run_together(works: int, steps: int, turns: Turns) -> list[tuple[str, int]]:
    """What was done in which order: steps of several long works, and rounds of the loop that somebody else saw."""
    done: list[tuple[str, int]] = []

    async def work(name: str) -> None:
        turn = await turns.wait()
        for step in range(steps):
            done.append((name, step))
            if turn.is_over():
                await turns.next(turn)

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
    done = run_together(1, 5, Turns(turn_s=0))
    steps = [index for index, (name, _) in enumerate(done) if name == "work 0"]
    for step, next_step in pairwise(steps):
        assert "tick" in {name for name, _ in done[step:next_step]}, done


def test_of_many_long_works_one_step_is_done_between_two_rounds_of_the_others() -> None:
    done = run_together(10, 5, Turns(turn_s=0))
    assert sum(name != "tick" for name, _ in done) == 50
    in_a_row = 0
    for name, _ in done:
        in_a_row = 0 if name == "tick" else in_a_row + 1
        assert in_a_row <= 1, done


def test_a_turn_that_is_not_over_is_not_given_up() -> None:
    done = run_together(1, 5, Turns(turn_s=3600))
    first = done.index(("work 0", 0))
    assert done[first : first + 5] == [("work 0", step) for step in range(5)]


def test_whoever_gives_up_leaves_the_turn_to_the_next() -> None:
    async def scenario() -> None:
        turns = Turns()
        impatient, patient = asyncio.ensure_future(turns.wait()), asyncio.ensure_future(turns.wait())
        await asyncio.sleep(0)
        impatient.cancel()
        turn = await asyncio.wait_for(patient, 10)
        assert not turn.is_over()

    asyncio.run(scenario())
