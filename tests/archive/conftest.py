from collections.abc import Iterator

import pytest

from barnabas.testing import Broker


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Shared: each test uses its own topics."""
    with Broker() as running:
        yield running
