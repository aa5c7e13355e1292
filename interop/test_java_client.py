"""The Java client, one release newer than the newest server: records with every codec, groups with both protocols."""

import subprocess

import pytest
from kafka_tools import java
from peers import Peers

from barnabas.testing import Broker


def run(peers: Peers, program: str, *arguments: object) -> list[int]:
    command = [*java([peers.java_client, peers.client_jars / "*"], heap_mb=256), program, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr[-6000:]
    return [int(word) for word in result.stdout.split()]


def test_it_reads_back_exactly_what_it_wrote_with_every_codec(
    peers: Peers, broker: Broker, barnabas_topic: str
) -> None:
    broker.create_topic(barnabas_topic)
    assert run(peers, "RoundTrip", broker.bootstrap_servers, barnabas_topic, 1000) == [5000]


@pytest.mark.parametrize("assignor", ["RangeAssignor", "CooperativeStickyAssignor"])
def test_members_join_and_leave_a_group(peers: Peers, broker: Broker, barnabas_topic: str, assignor: str) -> None:
    broker.create_topic(barnabas_topic, partitions=6)
    written, read, read_twice, kept = run(peers, "Groups", broker.bootstrap_servers, barnabas_topic, 6, assignor)
    assert (written, read, read_twice) == (4200, 4200, 0)
    # Eager members revoke everything before a rebalance; cooperative ones keep the partitions that stay theirs.
    assert (kept > 0) == (assignor == "CooperativeStickyAssignor")
