"""The tutorial, unchanged, with Apache Kafka and on a Spark cluster of two workers: project, tests, run and replay."""

import sys
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


@pytest.mark.timeout(1800)
def test_the_tutorial_with_apache_kafka_and_a_cluster(peers: Peers, tools: KafkaTools, tmp_path: Path) -> None:
    kafka = KafkaServer(peers, tmp_path / "data", tmp_path / "kafka")
    kafka.format(tools)
    with kafka, SparkCluster(workers=2, cores=1, memory="1g") as spark:
        servers = kafka.bootstrap_servers
        home = tmp_path / "reader"
        home.mkdir()
        shell = Shell(home, {"BOOTSTRAP": servers, "BARNABAS_BOOTSTRAP_SERVER": servers, "SPARK_MASTER": spark.url})
        shell.patience_s = PATIENCE_S
        try:
            run_story("docs/tutorial.md", shell)
        finally:
            shell.close()
        assert any((spark.logs / "work").rglob("app-*")), "the cluster has done nothing"
