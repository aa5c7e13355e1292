"""Requests with long lists, one after another with a pause between them, as an admin's script may send them."""

import time
from datetime import timedelta

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from bench.admin import connect_client
from bench.sockets import TIMEOUT_S, Refused

_PAUSE_S = 0.5


def create_topics(port: int, topics: int, seconds: float) -> int:
    """Topics with one partition, so many in each request. Returns how many requests were answered."""
    deadline = time.perf_counter() + seconds
    answered = 0
    with connect_client(port) as client:
        while time.perf_counter() < deadline:
            wanted = tuple(
                CreatableTopic(name=f"made-{answered}-{index}", num_partitions=1, replication_factor=1)
                for index in range(topics)
            )
            request = CreateTopicsRequest(topics=wanted, timeout=timedelta(seconds=TIMEOUT_S))
            for result in client.call("create_topics", 7, request).topics:
                if result.error_code != ErrorCode.none:
                    raise Refused(f"topic {result.name} was not created: {result.error_code.name}")
            answered += 1
            time.sleep(_PAUSE_S)
    return answered


def describe_groups(port: int, groups: int, seconds: float) -> int:
    """Groups that do not exist: each is looked up all the same. Returns how many requests were answered."""
    deadline = time.perf_counter() + seconds
    request = DescribeGroupsRequest(groups=tuple(f"group-{index}" for index in range(groups)))
    answered = 0
    with connect_client(port) as client:
        client.call("find_coordinator", 4, FindCoordinatorRequest(coordinator_keys=("group-0",)))
        while time.perf_counter() < deadline:
            described = client.call("describe_groups", 5, request).groups
            if len(described) != groups:
                raise Refused(f"{len(described)} of {groups} groups were described")
            answered += 1
            time.sleep(_PAUSE_S)
    return answered
