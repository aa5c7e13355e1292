import asyncio

from barnabas.testing.clock import START_MS, VirtualClock


def test_timers_fire_in_order_each_at_its_time() -> None:
    clock = VirtualClock()
    seen: list[tuple[str, int]] = []
    clock.call_later(20, lambda: seen.append(("b", clock.monotonic_ms())))
    clock.call_later(10, lambda: seen.append(("a", clock.monotonic_ms())))
    clock.call_later(10, lambda: seen.append(("a2", clock.monotonic_ms())))
    clock.call_later(21, lambda: seen.append(("c", clock.monotonic_ms())))
    clock.advance(20)
    assert seen == [("a", 10), ("a2", 10), ("b", 20)]
    assert clock.now_ms() == START_MS + 20
    assert clock.next_due_ms() == 21


def test_a_timer_may_set_another_that_is_due_too() -> None:
    clock = VirtualClock()
    seen: list[int] = []

    def again() -> None:
        seen.append(clock.monotonic_ms())
        clock.call_later(3, again)

    clock.call_later(3, again)
    clock.advance(10)
    assert seen == [3, 6, 9]


def test_cancelled_timers_do_not_fire() -> None:
    clock = VirtualClock()
    seen: list[int] = []
    clock.call_later(5, lambda: seen.append(1)).cancel()
    clock.advance(10)
    assert seen == []
    assert clock.next_due_ms() is None


def test_sleepers_wake_in_order() -> None:
    async def main() -> list[str]:
        clock = VirtualClock()
        seen: list[str] = []

        async def sleeper(name: str, delay_ms: float) -> None:
            await clock.sleep_ms(delay_ms)
            seen.append(f"{name}@{clock.monotonic_ms()}")

        tasks = [asyncio.create_task(sleeper("b", 20.5)), asyncio.create_task(sleeper("a", 10))]
        cancelled = asyncio.create_task(sleeper("never", 15))
        await clock.settle()
        cancelled.cancel()
        await clock.elapse(30)
        await asyncio.gather(*tasks)
        return seen

    assert asyncio.run(main()) == ["a@10", "b@21"]
