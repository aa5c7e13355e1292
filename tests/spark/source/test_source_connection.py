"""The driver's connection to the cluster: how often it retries, and when it fails at once."""

import socket
from collections.abc import Iterator

import pytest

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ConnectionClosed, Refused
from barnabas.spark.errors import UserError
from barnabas.spark.options.source import SourceOptions, batch_options
from barnabas.spark.source.cluster_connection import ClusterConnection
from barnabas.testing import Broker
from barnabas.wire.errors import ErrorCode


def options(bootstrap: str, **more: str) -> SourceOptions:
    return batch_options({"kafka.bootstrap.servers": bootstrap, "subscribe": "t", **more})


class Question:
    """Fails a number of times, then answers."""

    def __init__(self, failures: int, failure: Exception) -> None:
        self.failures = failures
        self.failure = failure
        self.asked: list[Cluster] = []

    def __call__(self, cluster: Cluster) -> str:
        self.asked.append(cluster)
        if len(self.asked) <= self.failures:
            raise self.failure
        cluster.topics(())
        return "answer"


UNSTABLE = Refused(ErrorCode.unknown_topic_or_partition, "not there yet")


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def connection(broker: Broker, pauses: list[float]) -> Iterator[ClusterConnection]:
    made = ClusterConnection(options(broker.bootstrap_servers), sleep=pauses.append)
    yield made
    made.close()


def test_a_passing_failure_is_asked_about_again_on_a_new_line(
    connection: ClusterConnection, pauses: list[float]
) -> None:
    question = Question(2, UNSTABLE)
    assert connection.ask(question) == "answer"
    assert pauses == [1.0, 1.0]
    assert len({id(cluster) for cluster in question.asked}) == 3


def test_the_last_failure_is_told(connection: ClusterConnection, pauses: list[float]) -> None:
    with pytest.raises(UserError, match="Not there yet"):
        connection.ask(Question(3, UNSTABLE))
    assert len(pauses) == 2


def test_what_breaks_later_is_tried_again_and_what_never_worked_is_not(
    connection: ClusterConnection, pauses: list[float]
) -> None:
    broken = ConnectionClosed("the broker hung up", "look at its log")
    with pytest.raises(UserError, match="hung up"):
        connection.ask(Question(1, broken))
    assert pauses == []
    assert connection.ask(Question(0, broken)) == "answer"
    assert connection.ask(Question(1, broken)) == "answer"
    assert pauses == [1.0]


def test_the_line_stays_open(connection: ClusterConnection) -> None:
    first, second = Question(0, UNSTABLE), Question(0, UNSTABLE)
    connection.ask(first)
    connection.ask(second)
    assert first.asked == second.asked


def test_an_address_where_somebody_else_answers_is_given_up_soon(pauses: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        bootstrap = f"127.0.0.1:{silent.getsockname()[1]}"
        given = {"kafka.request.timeout.ms": "200", "kafka.default.api.timeout.ms": "200"}
        connection = ClusterConnection(options(bootstrap, **given), sleep=pauses.append)
        with pytest.raises(UserError) as refused:
            connection.ask(lambda cluster: cluster.topics())
        connection.close()
    assert bootstrap in refused.value.message
    assert refused.value.hint
    assert pauses == []
