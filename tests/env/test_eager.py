import asyncio

import pytest

from barnabas.env.eager import start_eagerly


async def note(seen: list[str], *waits: "asyncio.Future[None]") -> None:
    seen.append("started")
    try:
        for wait in waits:
            await wait
            seen.append("resumed")
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        seen.append("cancelled")
        raise
    finally:
        seen.append("ended")


def test_without_a_wait_there_is_no_task() -> None:
    async def nothing() -> None:
        return

    async def failing() -> None:
        raise ValueError("at once")

    async def main() -> None:
        assert start_eagerly(nothing()) is None
        with pytest.raises(ValueError, match="at once"):
            start_eagerly(failing())

    asyncio.run(main())


def test_a_task_does_the_rest() -> None:
    async def main() -> None:
        waits = [asyncio.get_running_loop().create_future() for _ in range(2)]
        seen: list[str] = []
        task = start_eagerly(note(seen, *waits))
        assert task is not None
        assert seen == ["started"], "before the loop runs"
        for wait in waits:
            wait.set_result(None)
        await task
        assert seen == ["started", "resumed", "resumed", "ended"]

    asyncio.run(main())


@pytest.mark.parametrize("resumes", [0, 1])
def test_it_hears_of_errors_and_cancellation_wherever_it_waits(resumes: int) -> None:
    async def main(*, fail: bool) -> list[str]:
        waits = [asyncio.get_running_loop().create_future() for _ in range(2)]
        seen: list[str] = []
        task = start_eagerly(note(seen, *waits))
        assert task is not None
        for wait in waits[:resumes]:
            wait.set_result(None)
        for _ in range(3):  # the task begins, and resumes
            await asyncio.sleep(0)
        if fail:
            waits[resumes].set_exception(ValueError("later"))
            with pytest.raises(ValueError, match="later"):
                await task
        else:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return seen

    assert asyncio.run(main(fail=True)) == ["started", *["resumed"] * resumes, "ended"]
    assert asyncio.run(main(fail=False)) == ["started", *["resumed"] * resumes, "cancelled", "ended"]
