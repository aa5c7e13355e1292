"""Barnabas tested with other projects' programs. A peer that cannot be downloaded or built fails its tests."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import spark_brokers
from followed_pages import followed as followed
from kafka_tools import KafkaTools
from peers import Peers
from spark_contents import Contents, filled
from spark_queries import session_with_both
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from barnabas.spark.java import SHORT_LIVED
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_S = 600.0
"""For all tests with the shared Spark together, as long as the machine is busy."""
_WITH_SPARK = tuple(f"/test_spark_{name}.py" for name in ("migration", "parity", "refusals", "sink", "streams"))
"""Files whose tests use the fixture `spark`."""

# As for other tests: of each Spark little is asked more than once.
os.environ["SPARK_SUBMIT_OPTS"] = SHORT_LIVED


def pytest_configure(config: pytest.Config) -> None:
    """PySpark imports pandas for Arrow, and warns about the newest version, which does not matter here."""
    config.addinivalue_line("filterwarnings", "ignore:PySpark does not yet fully support pandas:FutureWarning")


class OneSpark(LoadScopeScheduling):  # type: ignore[misc] # pytest-xdist has no types
    """Hands out files and classes, which share servers, but the files with Spark together: they share a Spark, too."""

    def _split_scope(self, nodeid: str) -> str:
        if "/test_spark_versions.py" in nodeid:
            return nodeid  # each starts a Spark of its own
        return "spark" if _is_with_spark(nodeid) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneSpark:
    return OneSpark(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_length_s, reverse=True)


def _is_with_spark(nodeid: str) -> bool:
    return any(file in nodeid for file in _WITH_SPARK)


def _length_s(item: pytest.Item) -> float:
    """What takes minutes has to begin early, or one worker is still busy with it when the other has nothing to do."""
    timeout = item.get_closest_marker("timeout")
    return float(timeout.args[0]) if timeout else SPARK_S if _is_with_spark(item.nodeid) else 0.0


@pytest.fixture(scope="session")
def peers() -> Peers:
    return Peers()


@pytest.fixture(scope="session")
def tools(peers: Peers) -> Iterator[KafkaTools]:
    with KafkaTools(peers) as running:
        yield running


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Shared: each test uses its own topic and group."""
    with Broker(process=True) as running:
        yield running


@pytest.fixture(scope="session")
def spark(peers: Peers, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """With Spark's own Kafka connector, and ours."""
    with session_with_both(peers, tmp_path_factory.mktemp("spark")) as running:
        yield running


@pytest.fixture(scope="session")
def contents_on_barnabas(
    peers: Peers, tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Contents]:
    home = tmp_path_factory.mktemp("barnabas")
    with spark_brokers.running(spark_brokers.BARNABAS, peers, tools, home) as servers, filled(servers) as contents:
        yield contents


@pytest.fixture(scope="session")
def contents_on_apache_kafka(
    peers: Peers, tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Contents]:
    home = tmp_path_factory.mktemp("apache-kafka")
    with spark_brokers.running(spark_brokers.APACHE_KAFKA, peers, tools, home) as servers, filled(servers) as contents:
        yield contents


@pytest.fixture(params=["contents_on_barnabas", "contents_on_apache_kafka"], ids=spark_brokers.BROKERS)
def contents(request: pytest.FixtureRequest) -> Contents:
    """Tests come in random order: both brokers stay until the last of them."""
    found: Contents = request.getfixturevalue(request.param)
    return found
