"""A broker with share groups, on a clock that only tests move."""

from collections.abc import Iterator

import pytest
from share_world import ShareWorld


@pytest.fixture
def world() -> Iterator[ShareWorld]:
    world = ShareWorld()
    yield world
    world.close()
