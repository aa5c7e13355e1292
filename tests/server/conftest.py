"""A broker in a process of its own, to be attacked: it must stay alive, small and prompt, and log no defect.

`fuzz` lies beside `tests` and is not installed: found whether pytest runs as a module or as a command.
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
    """After each attack the broker answers somebody else, soon, and has not grown."""
    yield
    if "attacked" in request.fixturenames:
        request.getfixturevalue("attacked").check_unharmed()
