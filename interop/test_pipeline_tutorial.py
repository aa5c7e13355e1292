"""The tutorial as it is written: with Barnabas, and unchanged with Apache Kafka on a Spark cluster of two workers."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from kafka_server import KafkaServer
from kafka_tools import KafkaTools
from peers import Peers

from barnabas.testing.spark_cluster import SparkCluster

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "docs"))

from page_shell import Shell, run_story

PATIENCE_S = 400.0
"""For one command. Executors start for each, on a machine that may be busy."""

pytestmark = pytest.mark.timeout(1800)


@contextmanager
def reader(home: Path, environment: Mapping[str, str] | None = None) -> Iterator[Shell]:
    home.mkdir()
    shell = Shell(home, environment)
    shell.patience_s = PATIENCE_S
    try:
        yield shell
    finally:
        shell.close()


class TestBarnabas:
    """A class each: pytest's workers take classes, and these take minutes."""

    def test_the_tutorial(self, tmp_path: Path) -> None:
        with reader(tmp_path / "reader") as shell:
            run_story("docs/tutorial.md", shell)


class TestApacheKafkaAndACluster:
    def test_the_tutorial(self, peers: Peers, tools: KafkaTools, tmp_path: Path) -> None:
        kafka = KafkaServer(peers, tmp_path / "data", tmp_path / "kafka")
        kafka.format(tools)
        with kafka, SparkCluster(workers=2, cores=1, memory="1g") as spark:
            servers = kafka.bootstrap_servers
            environment = {"BARNABAS_BOOTSTRAP_SERVER": servers, "SPARK_MASTER": spark.url}
            with reader(tmp_path / "reader", environment) as shell:
                run_story("docs/tutorial.md", shell)
            assert any((spark.logs / "work").rglob("app-*")), "the cluster has done nothing"
