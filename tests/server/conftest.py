"""A broker in its own process, under attack: it must stay alive, small and responsive, and log no defect.

`fuzz` is next to `tests` and not installed: makes it importable, however pytest is run.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacked import Attacked

from barnabas.testing import Broker

sys.path.insert(0, str(Path(__file__).parents[2]))


@pytest.fixture(scope="module")
def attacked() -> Iterator[Attacked]:
    with Broker(process=True) as broker:
        attacked = Attacked(broker)
        yield attacked
        attacked.check_log()


@pytest.fixture(autouse=True)
def unharmed(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each attack the broker answers another client quickly, and has not grown."""
    yield
    if "attacked" in request.fixturenames:
        request.getfixturevalue("attacked").check_unharmed()
