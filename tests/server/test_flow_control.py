"""A connection's flow control against a plain model: any order of requests, answers and reasons to stop.

The model keeps the requests and their answers in a list, and works out from it what may begin.
"""

from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from barnabas.handlers.pending import MayFollow
from barnabas.server.flow_control import (
    CLOSED,
    EXCLUSIVE,
    FULL,
    HELD,
    NO_MEMORY,
    NOT_READ,
    QUEUED_BYTES_MAX,
    THROTTLED,
    UNWRITABLE,
    FlowControl,
)
from property_effort import examples

IN_FLIGHT_MAX = 4
PRODUCE, FETCH = b"\x00\x00", b"\x00\x01"
NO_REASON = 0


@dataclass
class Request:
    api_key: bytes
    may_follow: MayFollow
    answer_bytes: int | None = None


class FlowControlMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.flow = FlowControl(IN_FLIGHT_MAX)
        self.requests: list[Request] = []
        """In the order in which they were sent; without those whose answers were sent."""
        self.reasons: set[int] = set()
        self.now = 1.0
        self.throttle_timers: list[float] = []
        self.throttled_until = 0.0

    def may_begin(self, api_key: bytes) -> bool:
        in_progress = [request for request in self.requests if request.answer_bytes is None]
        return (
            not self.reasons
            and self.now >= self.throttled_until
            and len(self.requests) < IN_FLIGHT_MAX
            and sum(request.answer_bytes or 0 for request in self.requests) < QUEUED_BYTES_MAX
            and all(
                request.may_follow is MayFollow.ALL
                or (request.may_follow is MayFollow.SAME_API and request.api_key == api_key)
                for request in in_progress
            )
        )

    def flow_lets_begin(self, api_key: bytes) -> bool:
        return not self.flow.stops and self.flow.only_api in (b"", api_key)

    @rule(api_key=st.sampled_from([PRODUCE, FETCH]), may_follow=st.sampled_from(MayFollow))
    def begin(self, api_key: bytes, may_follow: MayFollow) -> None:
        if self.flow_lets_begin(api_key):
            self.flow.begin(may_follow, memoryview(api_key + b"the rest of the request"))
            self.requests.append(Request(api_key, may_follow))

    @precondition(lambda self: any(request.answer_bytes is None for request in self.requests))
    @rule(data=st.data(), size=st.sampled_from([0, 100, QUEUED_BYTES_MAX - 100, QUEUED_BYTES_MAX + 1]))
    def answer(self, data: st.DataObject, size: int) -> None:
        request = data.draw(st.sampled_from([each for each in self.requests if each.answer_bytes is None]))
        self.flow.answered(request.may_follow, size)
        request.answer_bytes = size

    @rule()
    def send(self) -> None:
        while self.requests and (size := self.requests[0].answer_bytes) is not None:
            self.flow.sent(size)
            del self.requests[0]

    @rule(reason=st.sampled_from([HELD, UNWRITABLE, NO_MEMORY]))
    def stop(self, reason: int) -> None:
        self.flow.stop(reason)
        self.reasons.add(reason)

    @rule(reason=st.sampled_from([HELD, UNWRITABLE, NO_MEMORY]))
    def clear(self, reason: int) -> None:
        self.flow.clear(reason)
        self.reasons.discard(reason)

    @rule(seconds=st.sampled_from([0.5, 1.0, 2.0]))
    def throttle(self, seconds: float) -> None:
        until = self.now + seconds
        if self.flow.throttle(until):
            self.throttle_timers.append(until)
        self.throttled_until = max(self.throttled_until, until)

    @rule(seconds=st.sampled_from([0.5, 1.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        for until in [each for each in self.throttle_timers if each <= self.now]:
            self.throttle_timers.remove(until)
            self.flow.end_throttle(until)

    @invariant()
    def requests_begin_when_the_model_says_so(self) -> None:
        for api_key in (PRODUCE, FETCH):
            assert self.flow_lets_begin(api_key) == self.may_begin(api_key)

    @invariant()
    def the_socket_is_read_unless_a_reason_forbids_it(self) -> None:
        assert bool(self.flow.stops & NOT_READ) == bool(self.reasons or self.now < self.throttled_until)

    def teardown(self) -> None:
        """When everything has been answered and every reason is gone, a request may begin."""
        for reason in list(self.reasons):
            self.clear(reason)
        self.time_passes(seconds=10.0)
        for request in self.requests:
            if request.answer_bytes is None:
                self.flow.answered(request.may_follow, 1)
                request.answer_bytes = 1
        self.send()
        assert self.flow.stops == NO_REASON
        assert self.flow.only_api == b""


FlowControlMachine.TestCase.settings = settings(max_examples=examples(100), deadline=None)
TestFlowControl = FlowControlMachine.TestCase


def test_each_reason_stops_alone() -> None:
    reasons = [HELD, THROTTLED, UNWRITABLE, NO_MEMORY, CLOSED, EXCLUSIVE, FULL]
    for reason in reasons:
        flow = FlowControl(IN_FLIGHT_MAX)
        flow.stop(reason)
        for other in reasons:
            if other != reason:
                flow.clear(other)
        assert flow.stops == reason


@pytest.mark.parametrize(
    ("may_follow", "stops", "only_api"),
    [
        (MayFollow.NONE, EXCLUSIVE, b""),
        (MayFollow.SAME_API, NO_REASON, PRODUCE),
        (MayFollow.ALL, NO_REASON, b""),
    ],
)
def test_what_may_follow(may_follow: MayFollow, stops: int, only_api: bytes) -> None:
    flow = FlowControl(IN_FLIGHT_MAX)
    flow.begin(may_follow, memoryview(PRODUCE + b"..."))
    assert (flow.stops, flow.only_api) == (stops, only_api)
    flow.answered(may_follow, 10)
    assert (flow.stops, flow.only_api) == (NO_REASON, b"")


def test_only_the_longest_of_several_throttle_times_ends_it() -> None:
    flow = FlowControl(IN_FLIGHT_MAX)
    assert flow.throttle(2.0)
    assert not flow.throttle(1.5)
    assert flow.throttle(3.0)
    flow.end_throttle(2.0)
    assert flow.stops == THROTTLED
    flow.end_throttle(3.0)
    assert flow.stops == NO_REASON


def test_a_throttle_after_one_that_ended_early_ends_too() -> None:
    """Timers may fire a little early: then the next throttle time can end before the last one was meant to."""
    flow = FlowControl(IN_FLIGHT_MAX)
    assert flow.throttle(2.0)
    flow.end_throttle(2.0)
    assert flow.throttle(1.999)
    flow.end_throttle(1.999)
    assert flow.stops == NO_REASON
