from collections.abc import Iterator

import pytest

from barnabas.testing import Broker


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Shared: each test takes topics of its own."""
    with Broker() as running:
        yield running
