"""Clients in other languages produce, consume and run groups."""

import subprocess

from peers import Peers

from barnabas.testing import Broker


def run(*command: object) -> list[list[str]]:
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr[-6000:]
    return [line.split() for line in result.stdout.splitlines()]


def test_franz_go(peers: Peers, broker: Broker, barnabas_topic: str) -> None:
    broker.create_topic(barnabas_topic, partitions=6)
    assert run(peers.franz_go, broker.bootstrap_servers, barnabas_topic, 6) == [
        ["round", "trip", "3000"],
        # Members with each balancer joined and left: every record was read exactly once.
        ["eager", "4800", "0"],
        ["cooperative", "6600", "0"],
    ]


def test_kafkajs(peers: Peers, barnabas_topic: str) -> None:
    """On a broker of its own: the coordinator is still loading when the first consumer joins its group."""
    with Broker(process=True) as fresh:
        fresh.create_topic(barnabas_topic, partitions=6)
        written, read, committed = run("node", peers.kafkajs, fresh.bootstrap_servers, barnabas_topic, 6)[0]
    assert (written, read, committed) == ("4500", "4500", "4500")
