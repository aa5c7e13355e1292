"""The tutorial, unchanged, on Apache Kafka and a Spark cluster of two workers: a part of `make soak`."""

from pathlib import Path

import pytest
from kafka_tools import KafkaTools
from page_reader import reader_with_kafka_and_cluster
from page_shell import run_story
from peers import Peers

pytestmark = pytest.mark.timeout(1800)


def test_the_tutorial(peers: Peers, tools: KafkaTools, tmp_path: Path) -> None:
    with reader_with_kafka_and_cluster(peers, tools, tmp_path) as shell:
        run_story("docs/tutorial.md", shell)
