"""Barnabas judged by programs its authors did not write. A peer that cannot be had fails its tests."""

from collections.abc import Iterator

import pytest
from kafka_tools import KafkaTools
from peers import Peers

from barnabas.testing import Broker


@pytest.fixture(scope="session")
def peers() -> Peers:
    return Peers()


@pytest.fixture(scope="session")
def tools(peers: Peers) -> Iterator[KafkaTools]:
    with KafkaTools(peers) as running:
        yield running


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Shared: each test takes a topic and a group of its own."""
    with Broker(process=True) as running:
        yield running
