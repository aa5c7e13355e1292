from collections.abc import Iterator

import pytest

from barnabas.testing import Broker
from barnabas.testing.simulated_query import SimulatedQuery
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

_DOWNGRADE = 2


@pytest.fixture(scope="module", params=[1, 2], ids=["transaction.version=1", "transaction.version=2"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """With both ways of transactions; each test has topics and a query of its own."""
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
