from collections.abc import Iterator

import pytest

from barnabas.spark.source.read import close_idle
from barnabas.testing import Broker


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> Iterator[None]:
    yield
    close_idle()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Shared: each test uses its own topics."""
    with Broker() as running:
        yield running
