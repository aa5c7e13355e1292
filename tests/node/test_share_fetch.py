"""ShareFetch and ShareAcknowledge over the wire: sessions, locks, acknowledgements, and restarts."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from share_member import ACCEPT, REJECT, RELEASE, RENEW, ShareMember, acquired, error_of, produce, values
from share_world import ShareWorld, eventually

from barnabas.testing.client import Client
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.share_fetch import ShareFetchResponse

LOCK_MS = 30_000


@pytest.fixture
def topic(world: ShareWorld) -> uuid.UUID:
    world.configure(auto_offset_reset="earliest")
    return world.make_topic()


def first_fetch(member: ShareMember, topic: uuid.UUID, **limits: Any) -> ShareFetchResponse:
    """The state of the partitions is read in the background: the first fetches may find nothing."""

    def fetch() -> ShareFetchResponse:
        return member.fetch(topic, epoch=0, partitions=(0, 1), **limits)

    return eventually(fetch, lambda response: bool(acquired(response)) or response.error_code != ErrorCode.none)


def test_a_record_is_handed_to_one_member(world: ShareWorld, topic: uuid.UUID) -> None:
    produce(world.connect(), "t", 3, 4)
    first, second = world.member(), world.member()
    response = first_fetch(first, topic, max_records=2)
    assert acquired(response) == [(0, 2, 1)]
    assert values(response) == [b"v0", b"v1", b"v2"]
    assert response.acquisition_lock_timeout == timedelta(milliseconds=LOCK_MS)
    assert acquired(first_fetch(second, topic)) == [(3, 6, 1)]
    assert acquired(first.fetch()) == []


def test_what_is_accepted_does_not_come_again(world: ShareWorld, topic: uuid.UUID) -> None:
    produce(world.connect(), "t", 5)
    member = world.member()
    first_fetch(member, topic)
    answer = member.acknowledge(topic, (0, 2, [ACCEPT]))
    assert error_of(answer) == (ErrorCode.none, ErrorCode.none)
    # The rest is acknowledged with the next fetch, which returns the records that this releases.
    response = member.fetch(topic, (3, 4, [RELEASE, ACCEPT]))
    assert acquired(response) == [(3, 3, 2)]
    world.clock.advance(LOCK_MS)
    assert acquired(member.fetch()) == [(3, 3, 3)]


def test_an_answer_without_a_leader_hint_names_no_broker(world: ShareWorld, topic: uuid.UUID) -> None:
    """franz-go takes leader 0, epoch 0 for a hint and moves the partition to broker 0."""
    produce(world.connect(), "t", 5)
    member = world.member()
    fetched = first_fetch(member, topic)
    acknowledged = member.acknowledge(topic, (0, 2, [ACCEPT]))
    acknowledged_by_fetch = member.fetch(topic, (3, 4, [ACCEPT]))
    refused = member.fetch(uuid.uuid4(), partitions=(7,))
    leaders = [
        (each.current_leader.leader_id, each.current_leader.leader_epoch)
        for answer in (fetched, acknowledged, acknowledged_by_fetch, refused)
        for part in answer.responses
        for each in part.partitions
    ]
    assert leaders == [(-1, -1)] * 4


def test_a_lock_times_out_and_wakes_who_waits(world: ShareWorld, topic: uuid.UUID) -> None:
    produce(world.connect(), "t", 2)
    first, second = world.member(), world.member()
    first_fetch(first, topic)
    second.fetch(topic, epoch=0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(second.fetch, max_wait=timedelta(seconds=100))
        while not waiting.done():
            world.clock.advance(1_000)
        assert acquired(waiting.result()) == [(0, 1, 2)]
    late = first.acknowledge(topic, (0, 1, [ACCEPT]))
    assert error_of(late) == (ErrorCode.none, ErrorCode.invalid_record_state)


def test_an_append_wakes_who_waits(world: ShareWorld, topic: uuid.UUID) -> None:
    member = world.member()
    member.fetch(topic, epoch=0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(member.fetch, max_wait=timedelta(seconds=100))
        produce(world.connect(), "t", 1)
        assert acquired(waiting.result()) == [(0, 0, 1)]


def test_a_fetch_waits_no_longer_than_it_wants(world: ShareWorld, topic: uuid.UUID) -> None:
    member = world.member()
    member.fetch(topic, epoch=0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(member.fetch, max_wait=timedelta(milliseconds=500))
        while not waiting.done():
            world.clock.advance(100)
        assert waiting.result().error_code == ErrorCode.none


def test_a_lock_is_renewed(world: ShareWorld, topic: uuid.UUID) -> None:
    produce(world.connect(), "t", 2)
    member = world.member()
    first_fetch(member, topic)
    world.clock.advance(LOCK_MS - 1)
    answer = member.acknowledge(topic, (0, 0, [RENEW]), renews=True)
    assert error_of(answer) == (ErrorCode.none, ErrorCode.none)
    world.clock.advance(1)
    assert acquired(member.fetch()) == [(1, 1, 2)]
    assert error_of(member.acknowledge(topic, (0, 1, [ACCEPT]))) == (ErrorCode.none, ErrorCode.none)


def test_renewals_may_come_with_a_fetch_that_fetches_nothing(world: ShareWorld, topic: uuid.UUID) -> None:
    produce(world.connect(), "t", 2)
    member = world.member()
    first_fetch(member, topic)
    refused = member.fetch(topic, (0, 1, [RENEW]), is_renew_ack=True)
    assert refused.error_code == ErrorCode.invalid_request
    renewed = member.fetch(topic, (0, 1, [RENEW]), is_renew_ack=True, min_bytes=0, max_bytes=0, max_records=0)
    assert error_of(renewed) == (ErrorCode.none, ErrorCode.none)
    assert renewed.responses[0].partitions[0].acknowledge_error_code == 0


def test_renewals_can_be_forbidden(world: ShareWorld, topic: uuid.UUID) -> None:
    world.configure(renew_acknowledge_enable="false")
    produce(world.connect(), "t", 1)
    member = world.member()
    first_fetch(member, topic)
    answer = member.acknowledge(topic, (0, 0, [RENEW]), renews=True)
    assert error_of(answer) == (ErrorCode.none, ErrorCode.invalid_record_state)


def test_a_record_that_nobody_can_handle_is_given_up(world: ShareWorld, topic: uuid.UUID) -> None:
    world.configure(delivery_count_limit="2")
    produce(world.connect(), "t", 1, 1)
    member = world.member()
    first_fetch(member, topic, max_records=1)
    assert acquired(member.fetch(topic, (0, 0, [RELEASE]), max_records=1)) == [(0, 0, 2)]
    assert acquired(member.fetch(topic, (0, 0, [RELEASE]))) == [(1, 1, 1)]


def test_a_limit_may_be_exact(world: ShareWorld, topic: uuid.UUID) -> None:
    produce(world.connect(), "t", 10)
    member = world.member()
    assert acquired(first_fetch(member, topic, max_records=4, share_acquire_mode=1)) == [(0, 3, 1)]
    assert acquired(member.fetch(max_records=100, share_acquire_mode=1)) == [(4, 9, 1)]


def test_the_locks_of_a_partition_are_bounded(world: ShareWorld, topic: uuid.UUID) -> None:
    world.configure(partition_max_record_locks="100")
    produce(world.connect(), "t", 60, 60, 60)
    member = world.member()
    assert sum(last - first + 1 for first, last, _ in acquired(first_fetch(member, topic))) == 120
    assert acquired(member.fetch()) == []
    assert acquired(member.fetch(topic, (0, 59, [ACCEPT]))) == [(120, 179, 1)]


class Refusals:
    """What a broker does not let pass."""

    @pytest.fixture
    def member(self, world: ShareWorld, topic: uuid.UUID) -> ShareMember:
        produce(world.connect(), "t", 5)
        member = world.member()
        first_fetch(member, topic)
        return member


class TestSessions(Refusals):
    def test_epochs(self, world: ShareWorld, topic: uuid.UUID, member: ShareMember) -> None:
        assert member.fetch(epoch=9).error_code == ErrorCode.invalid_share_session_epoch
        assert member.acknowledge(topic, epoch=9).error_code == ErrorCode.invalid_share_session_epoch
        assert member.acknowledge(topic, epoch=0).error_code == ErrorCode.invalid_share_session_epoch
        stranger = ShareMember(world.connect())
        assert stranger.fetch(epoch=1).error_code == ErrorCode.share_session_not_found
        assert stranger.fetch(epoch=-1).error_code == ErrorCode.share_session_not_found
        assert stranger.acknowledge(topic, epoch=1).error_code == ErrorCode.share_session_not_found
        with_acknowledgements = member.fetch(topic, (0, 4, [ACCEPT]), epoch=0)
        assert with_acknowledgements.error_code == ErrorCode.invalid_request

    @pytest.mark.parametrize("member_id", ["", "x" * 37])
    def test_member_ids(self, world: ShareWorld, topic: uuid.UUID, member_id: str) -> None:
        member = ShareMember(world.connect(), member="-")
        member.member = member_id
        assert member.fetch(topic, epoch=0).error_code == ErrorCode.invalid_request
        assert member.acknowledge(topic, epoch=1).error_code == ErrorCode.invalid_request

    def test_the_end_of_a_session_gives_records_back(
        self, world: ShareWorld, topic: uuid.UUID, member: ShareMember
    ) -> None:
        answer = member.acknowledge(topic, (0, 0, [ACCEPT]), epoch=-1)
        assert error_of(answer) == (ErrorCode.none, ErrorCode.none)
        assert acquired(first_fetch(world.member(), topic)) == [(1, 4, 2)]

    def test_so_does_the_end_of_a_connection(self, world: ShareWorld, topic: uuid.UUID, member: ShareMember) -> None:
        other = world.member()
        member.client.close()
        assert acquired(first_fetch(other, topic)) == [(0, 4, 2)]

    def test_partitions_can_be_forgotten(self, world: ShareWorld, topic: uuid.UUID, member: ShareMember) -> None:
        produce(world.connect(), "t", 1, partition=1)
        assert acquired(member.fetch(topic, partitions=(), forget=(1,))) == []
        assert acquired(member.fetch(topic, partitions=(1,))) == [(0, 0, 1)]

    def test_their_number_is_bounded(self, world: ShareWorld, topic: uuid.UUID) -> None:
        world.properties["group.share.max.share.sessions"] = "1"
        world.restart()
        one, another = world.member(), world.member()
        one.fetch(topic, epoch=0)
        assert another.fetch(topic, epoch=0).error_code == ErrorCode.share_session_limit_reached


class TestAcknowledgements(Refusals):
    @pytest.mark.parametrize(
        ("first", "last", "types"),
        [
            (3, 2, [ACCEPT]),
            (0, 4, []),
            (0, 4, [ACCEPT, ACCEPT]),
            (0, 4, [5]),
            (0, 4, [-1]),
            (0, 4, [RENEW]),
            (0, 5, [ACCEPT]),
        ],
    )
    def test_nonsense(self, topic: uuid.UUID, member: ShareMember, first: int, last: int, types: list[int]) -> None:
        answer = member.acknowledge(topic, (first, last, types))
        assert error_of(answer) == (ErrorCode.none, ErrorCode.invalid_request)
        assert error_of(member.acknowledge(topic, (0, 4, [ACCEPT]))) == (ErrorCode.none, ErrorCode.none)

    def test_version_one_does_not_renew(self, topic: uuid.UUID, member: ShareMember) -> None:
        answer = member.acknowledge(topic, (0, 4, [RENEW]), version=1)
        assert error_of(answer) == (ErrorCode.none, ErrorCode.invalid_request)

    def test_batches_out_of_order(self, topic: uuid.UUID, member: ShareMember) -> None:
        answer = member.acknowledge(topic, (3, 4, [ACCEPT]), (0, 2, [ACCEPT]))
        assert error_of(answer) == (ErrorCode.none, ErrorCode.invalid_request)

    def test_somebody_elses(self, world: ShareWorld, topic: uuid.UUID, member: ShareMember) -> None:
        other = world.member()
        other.fetch(topic, epoch=0)
        answer = other.acknowledge(topic, (0, 4, [ACCEPT]))
        assert error_of(answer) == (ErrorCode.none, ErrorCode.invalid_record_state)

    def test_unknown_topics_and_partitions(self, topic: uuid.UUID, member: ShareMember) -> None:
        unknown = member.acknowledge(uuid.uuid4(), (0, 4, [ACCEPT]))
        assert error_of(unknown) == (ErrorCode.none, ErrorCode.unknown_topic_id)
        missing = member.acknowledge(topic, (0, 4, [ACCEPT]), partition=9)
        assert error_of(missing) == (ErrorCode.none, ErrorCode.unknown_topic_or_partition)
        assert error_of(member.fetch(uuid.uuid4())) == (ErrorCode.none, ErrorCode.unknown_topic_id)
        assert error_of(member.fetch(topic, partitions=(9,), epoch=0))[1] == ErrorCode.unknown_topic_or_partition


def test_a_restart_remembers_what_was_done(world: ShareWorld, topic: uuid.UUID) -> None:
    produce(world.connect(), "t", 6)
    member = world.member()
    first_fetch(member, topic)
    member.acknowledge(topic, (0, 1, [ACCEPT]), (2, 2, [RELEASE]), (4, 4, [REJECT]))
    world.restart()
    again = world.member()
    assert sorted(acquired(first_fetch(again, topic))) == [(2, 3, 2), (5, 5, 2)]


def test_a_group_begins_where_it_began_also_after_a_restart(world: ShareWorld, topic: uuid.UUID) -> None:
    """By default that is the end of the log when its first member joined."""
    produce(world.connect(), "t", 3)
    member = world.member("late")
    member.fetch(topic, epoch=0)
    produce(world.connect(), "t", 2)
    assert acquired(first_fetch(member, topic)) == [(3, 4, 1)]
    world.restart()
    assert acquired(first_fetch(world.member("late"), topic)) == [(3, 4, 2)]


def test_a_group_may_begin_some_time_ago(world: ShareWorld, topic: uuid.UUID) -> None:
    world.configure("recent", auto_offset_reset="by_duration:PT1H")
    produce(world.connect(), "t", 3, timestamp=1)  # of 1970
    member = world.member("recent")
    member.fetch(topic, epoch=0)
    produce(world.connect(), "t", 1)
    assert acquired(first_fetch(member, topic)) == [(3, 3, 1)]


def test_a_deleted_topic_is_told(world: ShareWorld, topic: uuid.UUID) -> None:
    from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

    produce(world.connect(), "t", 1)
    member = world.member()
    first_fetch(member, topic)
    client: Client = world.connect()
    request = DeleteTopicsRequest(topics=(DeleteTopicState(name="t"),), timeout=timedelta(seconds=5))
    assert client.call("delete_topics", 6, request).responses[0].error_code == ErrorCode.none
    assert error_of(member.fetch()) == (ErrorCode.none, ErrorCode.unknown_topic_id)


def test_a_thousand_answers_at_once(world: ShareWorld, topic: uuid.UUID) -> None:
    produce(world.connect(), "t", 1_000)
    member = world.member()
    first_fetch(member, topic)
    kinds = [ACCEPT if offset % 2 else RELEASE for offset in range(1_000)]
    assert error_of(member.acknowledge(topic, (0, 999, kinds))) == (ErrorCode.none, ErrorCode.none)
    held: list[tuple[int, int, int]] = []
    while taken := acquired(member.fetch()):
        held += taken
    assert held == [(offset, offset, 2) for offset in range(0, 1_000, 2)]
    assert member.fetch(epoch=-1).error_code == ErrorCode.none
    again = world.member()
    assert acquired(first_fetch(again, topic))[0] == (0, 0, 3)


def test_who_is_in_no_group_has_nothing_to_fetch(world: ShareWorld, topic: uuid.UUID) -> None:
    world.member()  # of another group, which makes the topic of states
    stranger = world.member("nobody", joins=None)
    answer = stranger.fetch(topic, epoch=0, max_wait=timedelta(seconds=5))
    assert error_of(answer) == (ErrorCode.none, ErrorCode.unknown_topic_or_partition)
