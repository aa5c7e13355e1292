from collections.abc import Iterator

import pytest

from barnabas.client.cluster import Cluster
from barnabas.client.properties import client_settings
from barnabas.testing import Broker
from barnabas.testing.simulated_query import SimulatedQuery
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

_DOWNGRADE = 2


@pytest.fixture(scope="module", params=[1, 2], ids=["transaction.version=1", "transaction.version=2"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """With transaction.version 1 and 2; each test has its own topics and query."""
    with Broker() as running:
        if request.param != 2:
            update = FeatureUpdateKey(
                feature="transaction.version", max_version_level=request.param, upgrade_type=_DOWNGRADE
            )
            with running.connect() as client:
                answer = client.call("update_features", 2, UpdateFeaturesRequest(feature_updates=(update,)))
            assert answer.error_code.name == "none", answer
        yield running


@pytest.fixture
def query(broker: Broker) -> Iterator[SimulatedQuery]:
    simulated = SimulatedQuery(broker.bootstrap_servers)
    yield simulated
    simulated.close()


@pytest.fixture(scope="module")
def target() -> Iterator[Broker]:
    """A broker with default settings, for writes by Spark itself."""
    with Broker() as running:
        yield running


@pytest.fixture
def cluster(target: Broker) -> Iterator[Cluster]:
    with Cluster(client_settings({"bootstrap.servers": target.bootstrap_servers})) as connected:
        yield connected
