from collections.abc import Iterator

import pytest

from barnabas.client.cluster import Cluster
from barnabas.client.properties import client_settings
from barnabas.client.settings import ClientSettings
from barnabas.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Shared: each test uses its own topics and groups."""
    with Broker() as running:
        yield running


@pytest.fixture
def settings(broker: Broker) -> ClientSettings:
    return client_settings({"bootstrap.servers": broker.bootstrap_servers})


@pytest.fixture
def cluster(settings: ClientSettings) -> Iterator[Cluster]:
    with Cluster(settings) as connected:
        yield connected
