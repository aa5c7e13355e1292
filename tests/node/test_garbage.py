"""Cycles among old objects are collected once the process has grown a lot, and not before."""

import asyncio
import gc
import weakref

from barnabas.node.garbage import CHECK_MS, GROWTH_BYTES, collect_after_growth, peak_bytes
from barnabas.testing.clock import VirtualClock


class Node:
    me: "Node"


def leave_a_cycle() -> "weakref.ref[Node]":
    node = Node()
    node.me = node
    return weakref.ref(node)


def test_a_cycle_is_collected_once_the_process_has_grown() -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        peak = 1_000_000
        watching = asyncio.ensure_future(collect_after_growth(clock, lambda: peak))
        await asyncio.sleep(0)
        cycle = leave_a_cycle()
        await clock.elapse(CHECK_MS)
        assert cycle() is not None
        peak += GROWTH_BYTES + 1
        await clock.elapse(CHECK_MS)
        assert cycle() is None
        watching.cancel()

    gc.disable()
    try:
        asyncio.run(scenario())
    finally:
        gc.enable()


def test_the_peak_is_in_bytes() -> None:
    assert peak_bytes() > 10_000_000
