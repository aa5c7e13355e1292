"""The two brokers for the Spark tests: Barnabas and Apache Kafka, each filled once for all tests of a worker."""

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
LONGEST_TRANSACTION_MS: Final = 3_600_000
"""Longer than all tests together."""
_PROPERTIES: Final = {
    "auto.create.topics.enable": "false",
    "transaction.max.timeout.ms": str(LONGEST_TRANSACTION_MS),
}


@contextmanager
def running(name: str, peers: Peers, tools: KafkaTools, home: Path) -> Iterator[str]:
    """Its bootstrap servers. Topics are not auto-created, so that a wrong name is an error."""
    if name == BARNABAS:
        with Broker(process=True, properties={**_PROPERTIES, "log.cleaner.backoff.ms": "200"}) as broker:
            yield broker.bootstrap_servers
        return
    server = KafkaServer(peers, home / "data", home / "kafka", properties=_PROPERTIES)
    server.format(tools)
    with server:
        yield server.bootstrap_servers
