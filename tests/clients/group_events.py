"""What happens to the members of a group on six partitions, whichever protocol they speak."""

from collections.abc import Callable

from group_feed import Feed
from group_process import Group, Member


def come_and_go(members: Group, feed: Feed) -> None:
    """The fourth member stays. No session times out meanwhile, however busy the machine is."""
    patience = {"session_timeout_ms": "30000"}
    with feed.flowing():
        first = members.join(**patience)
        members.wait_for_share((first, 6))
        second = members.join(**patience)
        members.wait_for_share((first, 3), (second, 3))
        third = members.join(**patience)
        members.wait_for_share((first, 2), (second, 2), (third, 2))
        first.leave()
        members.wait_for_share((second, 3), (third, 3))
        second.leave()
        third.leave()
        fourth = members.join(**patience)
        members.wait_for_share((fourth, 6))
    feed.assert_read_once_by(members)


def are_killed(members: Group, feed: Feed) -> None:
    with feed.flowing():
        first, second, third = (members.join() for _ in range(3))
        members.wait_for_share((first, 2), (second, 2), (third, 2))
        members.wait(lambda: len(second.processed) > 0, "the second works")
        second.kill()
        members.wait_for_share((first, 3), (third, 3))
        first.kill()
        members.wait_for_share((third, 6))
    feed.assert_read_by(members)


def come_back(members: Group, feed: Feed, go_away: Callable[[Member], None]) -> None:
    """A static member is back before its session ends: it finds its partitions, and the other one keeps its own."""
    patience = {"session_timeout_ms": "30000"}
    first = members.join(instance="one", **patience)
    members.wait_for_share((first, 6))
    second = members.join(instance="two", **patience)
    members.wait_for_share((first, 3), (second, 3))
    feed.send()
    feed.wait_until_read_by(members)
    assignments_before, had = first.assignments, second.assigned
    go_away(second)
    again = members.join(instance="two", **patience)
    members.wait(lambda: again.assigned == had, "the partitions it had before")
    feed.send()
    feed.assert_read_by(members)
    assert first.assignments == assignments_before, "the other member was disturbed"
