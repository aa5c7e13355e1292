"""The README's pipeline, as it is written, on Apache Kafka and a Spark cluster of two workers."""

from pathlib import Path

import pytest
from kafka_tools import KafkaTools
from page_reader import reader_with_kafka_and_cluster
from page_shell import blocks_of
from peers import Peers

pytestmark = pytest.mark.timeout(1800)

_RUN = "barnabas pipeline run --once"


def test_the_pipeline_of_the_readme(peers: Peers, tools: KafkaTools, tmp_path: Path) -> None:
    (block,) = [block for block in blocks_of("README.md") if any(command == _RUN for command, _ in block)]
    with reader_with_kafka_and_cluster(peers, tools, tmp_path) as shell:
        shell.run_block(
            [
                (f"{_RUN} --set spark.master=$SPARK_MASTER" if command == _RUN else command, expected)
                for command, expected in block
            ]
        )
