"""One broker process for all tests of a worker; a fresh topic and group for each test."""

import gc
import os
import uuid
import warnings
from collections.abc import Iterator

import pytest

from barnabas.testing import Broker

with warnings.catch_warnings():
    # kafka-python reads its schemas at import in a way that Python 3.11 deprecates and 3.13 takes back
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka as kafka

# So that a killed member is removed soon.
SHORT_SESSIONS = {"group.min.session.timeout.ms": "100"}


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker(process=True, properties=SHORT_SESSIONS) as broker:
        yield broker
        with open(os.path.join(os.path.dirname(broker.data_dir), "stderr")) as stderr:
            complaints = stderr.read()
        assert not complaints, f"no client did anything wrong, and yet: {complaints[-4000:]}"


@pytest.fixture
def servers(broker: Broker) -> str:
    return broker.bootstrap_servers


@pytest.fixture
def topic() -> str:
    """A name; the topic is not created."""
    return f"topic-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


@pytest.fixture(autouse=True)
def _sockets_that_clients_leave_open() -> Iterator[None]:
    """kafka-python and aiokafka leave some to the garbage collector: collect them here, not in another test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
