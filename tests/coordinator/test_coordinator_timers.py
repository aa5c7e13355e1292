from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordinator.core.timers import Timers


def test_due_in_order_and_only_once() -> None:
    timers = Timers()
    timers.set("b", 20)
    timers.set("a", 10)
    assert timers.next_ms() == 10
    assert timers.pop_due(9) is None
    assert timers.pop_due(20) == "a"
    assert timers.pop_due(20) == "b"
    assert timers.pop_due(20) is None
    assert timers.next_ms() is None
    assert len(timers) == 0


def test_moved_later_is_due_later() -> None:
    timers = Timers()
    timers.set("a", 10)
    timers.set("a", 30)
    assert timers.pop_due(29) is None
    assert timers.deadline_ms("a") == 30
    assert timers.pop_due(30) == "a"


def test_moved_earlier_is_due_earlier_and_leaves_nothing_behind() -> None:
    timers = Timers()
    timers.set("a", 30)
    timers.set("a", 10)
    assert timers.next_ms() == 10
    assert timers.pop_due(10) == "a"
    assert timers.pop_due(100) is None


def test_cancelled_never_comes() -> None:
    timers = Timers()
    timers.set("a", 10)
    timers.cancel("a")
    timers.cancel("a")
    assert timers.next_ms() is None
    assert timers.pop_due(100) is None
    timers.set("a", 50)
    assert timers.pop_due(49) is None
    assert timers.pop_due(50) == "a"


operations = st.lists(
    st.tuples(st.sampled_from(["set", "cancel", "pass"]), st.sampled_from("abc"), st.integers(0, 50)), max_size=60
)


@given(operations)
def test_behaves_as_a_table_of_deadlines(steps: list[tuple[str, str, int]]) -> None:
    timers, table, now = Timers(), dict[str, int](), 0
    for operation, key, amount in steps:
        if operation == "set":
            timers.set(key, now + amount)
            table[key] = now + amount
        elif operation == "cancel":
            timers.cancel(key)
            table.pop(key, None)
        else:
            now += amount
            due = set()
            while (popped := timers.pop_due(now)) is not None:
                due.add(popped)
            assert due == {each for each, deadline in table.items() if deadline <= now}
            for each in due:
                del table[each]
        next_ms = timers.next_ms()
        assert (next_ms is None) == (not table)
        assert next_ms is None or next_ms <= min(table.values())
