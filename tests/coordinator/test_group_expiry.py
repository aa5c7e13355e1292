"""Days of virtual time."""

from group_core import SESSION_MS, Core, subscription

from barnabas.coordinator.group.common.settings import GroupSettings

DAY_MS = 24 * 60 * 60_000
CHECK_MS = GroupSettings().offsets_retention_check_interval_ms


def live(core: Core, member: str, for_ms: int, generation: int = 1) -> None:
    for _ in range(0, for_ms, SESSION_MS - 1):
        core.advance(SESSION_MS - 1)
        assert core.heartbeat(member, generation) == ""


def test_a_simple_group_keeps_an_offset_for_seven_days_after_its_commit() -> None:
    core = Core()
    core.commit_offsets({("t", 0): 5})
    core.advance(4 * DAY_MS)
    core.commit_offsets({("t", 1): 6})
    core.advance(3 * DAY_MS - CHECK_MS)
    assert core.offset("t", 0) == 5
    core.advance(2 * CHECK_MS)
    assert core.offset("t", 0) is None
    assert core.offset("t", 1) == 6
    core.advance(4 * DAY_MS)
    assert core.state() == "none"
    assert core.reloaded().shard.offsets == {}


def test_a_group_keeps_its_offsets_for_seven_days_after_the_last_member_left() -> None:
    core = Core(GroupSettings(offsets_retention_ms=2 * 60 * 60_000))
    [member] = core.stable()
    core.commit_offsets({("t", 0): 5}, member=member, generation=1)
    live(core, member, 3 * 60 * 60_000)
    assert core.offset() == 5, "members protect what they subscribe to"
    core.leave(member)
    core.advance(2 * 60 * 60_000 - CHECK_MS)
    assert core.offset() == 5
    core.advance(2 * CHECK_MS)
    assert core.offset() is None
    assert core.state() == "none"
    other = core.reloaded()
    assert other.shard.stored_groups == {}
    assert other.shard.offsets == {}


def test_the_time_a_group_is_empty_counts_through_a_restart() -> None:
    core = Core()
    [member] = core.stable()
    core.commit_offsets({("t", 0): 5}, member=member, generation=1)
    core.leave(member)
    core.advance(5 * DAY_MS)
    other = core.reloaded()
    assert other.offset() == 5
    other.advance(2 * DAY_MS + CHECK_MS)
    assert other.offset() is None


def test_a_stable_consumer_group_loses_offsets_of_topics_it_no_longer_subscribes_to() -> None:
    core = Core(GroupSettings(offsets_retention_ms=60 * 60_000))
    [member] = core.stable(protocols={"range": subscription("t")})
    core.commit_offsets({("t", 0): 5, ("u", 0): 6}, member=member, generation=1)
    live(core, member, 60 * 60_000 + CHECK_MS)
    assert core.offset("t") == 5
    assert core.offset("u") is None
    assert core.state() == "Stable"


def test_offsets_do_not_expire_where_subscriptions_are_not_known_or_changing() -> None:
    settings = GroupSettings(offsets_retention_ms=60 * 60_000)
    unknown = Core(settings)
    [member] = unknown.stable(protocol_type="connect", protocols={"v1": b"?"})
    unknown.commit_offsets({("u", 0): 6}, member=member, generation=1)
    live(unknown, member, 60 * 60_000 + CHECK_MS)
    assert unknown.offset("u") == 6


def test_an_old_client_sets_its_own_retention() -> None:
    core = Core()
    core.commit_offsets({("t", 0): 5}, retention_ms=CHECK_MS, version=4)
    core.commit_offsets({("t", 1): 5})
    core.advance(CHECK_MS)
    assert core.offset("t", 0) is None
    assert core.offset("t", 1) == 5


def test_an_empty_group_without_offsets_is_deleted() -> None:
    core = Core()
    [member] = core.stable()
    core.leave(member)
    core.advance(CHECK_MS)
    assert core.state() == "none"
    assert core.shard.stored_groups == {}


def test_a_group_that_somebody_is_about_to_join_is_not() -> None:
    core = Core(GroupSettings(offsets_retention_check_interval_ms=SESSION_MS // 2))
    core.join()
    core.advance(SESSION_MS // 2)
    assert core.state() == "Empty"
    core.advance(SESSION_MS)
    assert core.state() == "none"
