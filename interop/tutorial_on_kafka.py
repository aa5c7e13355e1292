"""The tutorial, unchanged, on Apache Kafka and a Spark cluster of two workers: a part of `make soak`."""

from pathlib import Path

import pytest
from followed_pages import Followed
from kafka_tools import KafkaTools
from page_reader import reader_with_kafka_and_cluster
from peers import Peers

pytestmark = pytest.mark.timeout(1800)


def test_the_tutorial(peers: Peers, tools: KafkaTools, tmp_path: Path, followed: Followed) -> None:
    with reader_with_kafka_and_cluster(peers, tools, tmp_path) as shell:
        shell.follow(followed("docs/tutorial.md"))
