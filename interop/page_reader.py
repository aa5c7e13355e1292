"""A reader of the project's pages, with Barnabas and Spark in one process, or with Apache Kafka and a Spark cluster."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kafka_server import KafkaServer
from kafka_tools import KafkaTools
from page_shell import Shell
from peers import Peers

from barnabas.testing.spark_cluster import SparkCluster

PATIENCE_S = 400.0
"""For one command. Executors start for each, on a machine that may be busy."""


@contextmanager
def reader(home: Path, environment: Mapping[str, str] | None = None) -> Iterator[Shell]:
    home.mkdir()
    shell = Shell(home, environment)
    shell.patience_s = PATIENCE_S
    try:
        yield shell
    finally:
        shell.close()


@contextmanager
def reader_with_kafka_and_cluster(peers: Peers, tools: KafkaTools, home: Path) -> Iterator[Shell]:
    """The cluster must have done something in the end."""
    kafka = KafkaServer(peers, home / "data", home / "kafka")
    kafka.format(tools)
    with kafka, SparkCluster(workers=2, cores=1, memory="1g") as spark:
        environment = {"BARNABAS_BOOTSTRAP_SERVER": kafka.bootstrap_servers, "SPARK_MASTER": spark.url}
        with reader(home / "reader", environment) as shell:
            yield shell
        assert any((spark.logs / "work").rglob("app-*")), "the cluster has done nothing"
