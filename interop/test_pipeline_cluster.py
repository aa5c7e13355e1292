"""The README's pipeline on Apache Kafka and a Spark cluster of two workers, both as docs/scaling.md has them."""

from pathlib import Path

import pytest
from followed_pages import Followed
from kafka_server import KafkaServer
from kafka_tools import KafkaTools
from page_blocks import blocks_on
from page_reader import reader
from peers import Peers

from barnabas.spark import class_archive
from barnabas.spark.java import SHORT_LIVED, find_java
from barnabas.testing.ports import pick_free_port

pytestmark = pytest.mark.timeout(1800)

_RUN = "barnabas pipeline run"
_TEST = "barnabas pipeline test"
"""Of the README's commands, this one needs neither Kafka nor a cluster; `make test` runs it."""
_ON_THE_CLUSTER = "--set spark.master=$SPARK_MASTER --set spark.conf.spark.sql.shuffle.partitions=2"
"""Spark's default of 200, for each of the flows, would keep two cores busy for minutes."""
_HERE = {
    "spark-master": "127.0.0.1",
    "spark.cores.max: 8": "spark.cores.max: 2",
    "spark.executor.memory: 4g": "spark.executor.memory: 1g",
}
"""What stands on the page, and what is run instead: one machine, and a small one."""
_ENVIRONMENT = {
    # As little to do as other Sparks in tests.
    "JDK_JAVA_OPTIONS": SHORT_LIVED,
    "SPARK_DAEMON_JAVA_OPTS": class_archive.java_options(find_java()),
}


def test_the_pipeline_of_the_readme(peers: Peers, tools: KafkaTools, tmp_path: Path, followed: Followed) -> None:
    kafka = KafkaServer(peers, tmp_path / "data", tmp_path / "kafka")
    kafka.format(tools)
    replaced = {"7077": str(pick_free_port()), "kafka-1:9092,kafka-2:9092": kafka.bootstrap_servers, **_HERE}
    (story,) = [block.commands for block in blocks_on("README.md") if f"$ {_RUN}" in block.text]
    blocks = [block.with_other_text(replaced) for block in followed("docs/scaling.md")]
    (profiles,) = (block.text for block in blocks if block.kind == "yaml")
    cluster, log, with_profile = (
        [command for command, _ in block.commands if command != _RUN] for block in blocks if block.is_of_a_shell
    )
    environment = {**_ENVIRONMENT, "BARNABAS_BOOTSTRAP_SERVER": kafka.bootstrap_servers}
    with kafka, reader(tmp_path / "reader", environment) as shell:
        shell.run_block([(command, []) for command in (*log, *cluster)])
        shell.run_block(
            [
                (f"{command} {_ON_THE_CLUSTER}" if command.startswith(_RUN) else command, expected)
                for command, expected in story
                if command != _TEST
            ]
        )
        project = tmp_path / "reader" / "telemetry" / "pipeline.yaml"
        without_profiles = project.read_text().partition("\nprofiles:")[0]
        project.write_text(f"{without_profiles}\n{profiles}")
        shell.run_block(
            [("barnabas pipeline check --profile prod", []), *((f"{each} --once", []) for each in with_profile)]
        )
        applications = list((tmp_path / "reader" / "work").glob("app-*"))
    assert len(applications) == 2, "the cluster has run the pipeline twice"
