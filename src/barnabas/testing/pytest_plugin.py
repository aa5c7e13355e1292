"""Fixtures for test suites that need a broker.

    def test_orders(barnabas_broker, barnabas_topic):
        barnabas_broker.create_topic(barnabas_topic, partitions=3)
        producer = Producer({"bootstrap.servers": barnabas_broker.bootstrap_servers})

pytest loads this module in every project where Barnabas is installed, so it imports the broker only when a fixture is
used.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from barnabas.testing.broker import Broker


@pytest.fixture(scope="session")
def barnabas_broker() -> "Iterator[Broker]":
    """One broker in this process for the whole test run."""
    from barnabas.testing.broker import Broker

    with Broker() as broker:
        yield broker


@pytest.fixture
def barnabas_topic(request: pytest.FixtureRequest) -> str:
    """A topic name that no other test uses; the topic is not created."""
    import re
    import uuid

    readable = re.sub(r"[^a-zA-Z0-9._-]", "_", request.node.name)[:200]
    return f"{readable}-{uuid.uuid4().hex[:8]}"
