"""The two brokers that Spark reads here: Barnabas and Apache Kafka, each filled once for all tests of a worker."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kafka_server import KafkaServer
from kafka_tools import KafkaTools
from peers import Peers

from barnabas.testing import Broker

BARNABAS: Final = "barnabas"
APACHE_KAFKA: Final = "apache-kafka"
BROKERS: Final = (BARNABAS, APACHE_KAFKA)


@contextmanager
def running(name: str, peers: Peers, home: Path) -> Iterator[str]:
    """Its bootstrap servers. Topics are made by us, so that a mistake in a name is a mistake."""
    if name == BARNABAS:
        properties = {"log.cleaner.backoff.ms": "200", "auto.create.topics.enable": "false"}
        with Broker(process=True, properties=properties) as broker:
            yield broker.bootstrap_servers
        return
    server = KafkaServer(peers, home / "data", home / "kafka", properties={"auto.create.topics.enable": "false"})
    with KafkaTools(peers) as tools:
        server.format(tools)
    with server:
        yield server.bootstrap_servers
