"""Monitoring of queries without Spark: events as Spark sends them, a real broker, a fake clock."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from progress_json import QUERY_ID, RUN_ID, progress_json
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.client.cluster import Cluster
from barnabas.client.group_offsets import fetch_offsets
from barnabas.client.properties import client_settings
from barnabas.client.settings import ClientSettings
from barnabas.spark.query.backlog import dated, first_timestamp_ms, oldest_unread_ms
from barnabas.spark.query.data_loss import Cause, Loss
from barnabas.spark.query.group import QueryGroup, start_digest
from barnabas.spark.query.plan import PlannedSource
from barnabas.spark.query.progress import read_progress
from barnabas.spark.query.prometheus import QueryCollector
from barnabas.spark.query.source_watch import RECOMMIT_EVERY_S, SourceWatch
from barnabas.spark.query.status_server import StatusServer, as_json
from barnabas.spark.query.views import FAILED, RUNNING, STOPPED, QueryView
from barnabas.spark.query.watcher import ENDED_KEPT_MAX, Ended, Started, Watcher
from barnabas.testing import Broker
from barnabas.testing.ports import pick_free_port

WRITTEN_MS = 1_700_000_000_000


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class World:
    """A topic with two partitions of ten records each, one second between them, and a watcher."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self.broker = broker
        self.topic = topic
        self.group = f"{topic}-group"
        self.clock = Clock()
        self.options = {
            "kafka.bootstrap.servers": broker.bootstrap_servers,
            "kafka.group.id": self.group,
            "subscribe": topic,
        }
        self.published: list[list[QueryView]] = []
        self.watcher = Watcher(
            refresh_s=5,
            publish=self.published.append,
            clock=self.clock,
            wall_clock=lambda: (WRITTEN_MS + 100_000) / 1000,
        )
        broker.create_topic(topic, partitions=2)
        self.produce(10)

    def produce(self, count: int, first: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "linger.ms": 20})
        for number in range(first, first + count):
            for partition in (0, 1):
                producer.produce(self.topic, b"r", partition=partition, timestamp=WRITTEN_MS + number * 1000)
        assert producer.flush(10) == 0

    def source(self, index: int = 0, **options: str) -> tuple[int, SourceWatch]:
        return index, SourceWatch(index, PlannedSource("barnabas", {**self.options, **options}))

    def start(self, *sources: tuple[int, SourceWatch], run_id: str = RUN_ID) -> Started:
        return Started(QUERY_ID, run_id, "billing", sources or (self.source(),))

    def committed(self) -> dict[int, int]:
        with Cluster(client_settings({"bootstrap.servers": self.broker.bootstrap_servers})) as cluster:
            found = fetch_offsets(cluster, self.group, None)
        return {partition: one.offset for (_, partition), one in found.items()}

    def progress(self, batch_id: int, *ends: int, **more: str) -> str:
        shown = {self.topic: {str(index): end for index, end in enumerate(ends)}}
        return progress_json(batch_id, shown, second=batch_id, run_id=more.get("run_id", RUN_ID))

    def metrics(self) -> dict[tuple[str, str], float]:
        """Values by name and partition."""
        registry = CollectorRegistry()
        registry.register(QueryCollector(self.watcher.views, wall_clock=lambda: (WRITTEN_MS + 100_000) / 1000))
        families = text_string_to_metric_families(generate_latest(registry).decode())
        return {
            (sample.name, sample.labels.get("partition", "")): sample.value
            for family in families
            for sample in family.samples
        }


@pytest.fixture
def world(barnabas_broker: Broker, barnabas_topic: str) -> Iterator[World]:
    made = World(barnabas_broker, barnabas_topic)
    yield made
    made.watcher.close(timeout_s=10)


def test_a_finished_batch_is_committed_and_measured_at_once(world: World) -> None:
    world.watcher.step([world.start(), read_progress(world.progress(0, 4, 10))])
    assert world.committed() == {0: 4, 1: 10}
    (view,) = world.watcher.views()
    assert (view.state, view.batch_id, view.rows_total, view.name) == (RUNNING, 0, 6, "billing")
    (source,) = view.sources
    assert (source.group_id, source.trouble, source.lag) == (world.group, None, 6)
    first, second = source.partitions
    assert (first.lag, first.oldest_unread_ms, first.headroom) == (6, WRITTEN_MS + 4000, 4)
    assert (second.lag, second.oldest_unread_ms) == (0, None)
    assert source.age_s(WRITTEN_MS + 100_000) == 96
    assert world.published[-1] == world.watcher.views()


def test_lag_falls_and_the_rates_follow(world: World) -> None:
    world.watcher.step([world.start(), read_progress(world.progress(0, 0, 0))])
    world.clock.now_s += 10
    world.produce(5, first=10)
    world.watcher.step([read_progress(world.progress(1, 10, 10))])
    source = world.watcher.views()[0].sources[0]
    assert (source.lag, source.in_per_second, source.out_per_second, source.catch_up_s) == (10, 1, 2, 10)
    world.clock.now_s += 10
    world.watcher.step([read_progress(world.progress(2, 15, 15))])
    source = world.watcher.views()[0].sources[0]
    assert (source.lag, source.catch_up_s, source.age_s(WRITTEN_MS)) == (0, 0, 0)
    assert world.watcher.views()[0].rows_total == 18


def test_a_batch_that_hangs_is_seen_by_its_growing_lag(world: World) -> None:
    world.watcher.step([world.start(), read_progress(world.progress(0, 10, 10))])
    world.produce(3, first=10)
    world.clock.now_s += 1
    world.watcher.step([])
    assert world.watcher.views()[0].sources[0].lag == 0, "it is not time to ask again"
    world.clock.now_s += 5
    world.watcher.step([])
    source = world.watcher.views()[0].sources[0]
    assert source.lag == 6
    assert source.age_s(WRITTEN_MS + 100_000) == 90


def test_a_query_is_seen_before_its_first_batch_is_done(world: World) -> None:
    with Cluster(client_settings({"bootstrap.servers": world.broker.bootstrap_servers})) as cluster:
        QueryGroup(lambda: cluster, world.group, start=start_digest(world.options)).keep_initial(
            {(world.topic, 0): 2, (world.topic, 1): 3}
        )
    world.watcher.step([world.start()])
    (view,) = world.watcher.views()
    assert (view.batch_id, view.sources[0].lag) == (None, 15)
    assert world.committed() == {0: 2, 1: 3}, "to look at it changes nothing"


def test_news_that_come_late_or_twice_change_nothing(world: World) -> None:
    newest = read_progress(world.progress(2, 9, 9))
    world.watcher.step([world.start(), newest])
    world.clock.now_s += 10
    world.watcher.step([newest, read_progress(world.progress(1, 5, 5))])
    assert world.committed() == {0: 9, 1: 9}
    assert (world.watcher.views()[0].batch_id, world.watcher.views()[0].rows_total) == (2, 6)


def test_the_last_batch_of_a_run_counts_although_the_next_run_has_begun(world: World) -> None:
    second = "00000000-0000-4000-8000-000000000002"
    world.watcher.step([world.start(), world.start(run_id=second)])
    world.watcher.step([read_progress(world.progress(3, 7, 7)), Ended(RUN_ID, None)])
    assert world.committed() == {0: 7, 1: 7}
    assert [view.run_id for view in world.watcher.views()] == [second], "each query is shown once"


def test_one_of_several_sources_is_ours(world: World) -> None:
    text = progress_json(0, {"logOffset": 4}, {world.topic: {"0": 1, "1": 2}})
    world.watcher.step([world.start(world.source(1)), read_progress(text)])
    assert world.committed() == {0: 1, 1: 2}
    assert [source.index for source in world.watcher.views()[0].sources] == [1]


def test_a_source_without_a_group_is_measured_and_not_committed(world: World) -> None:
    options = {name: value for name, value in world.options.items() if name != "kafka.group.id"}
    source = SourceWatch(0, PlannedSource("barnabas", options))
    world.watcher.step([world.start((0, source)), read_progress(world.progress(0, 4, 4))])
    assert world.watcher.views()[0].sources[0].lag == 12
    assert world.committed() == {}
    assert ("kafka_consumergroup_lag", "0") not in world.metrics()
    assert world.metrics()["barnabas_query_lag_records", "0"] == 6


def test_offsets_are_committed_anew_before_they_expire(world: World) -> None:
    index, source = world.source()
    world.watcher.step([world.start((index, source)), read_progress(world.progress(0, 4, 4))])
    with Cluster(client_settings({"bootstrap.servers": world.broker.bootstrap_servers})) as cluster:
        from barnabas.wire.messages.delete_groups import DeleteGroupsRequest

        cluster.at_coordinator(world.group, "delete_groups", DeleteGroupsRequest(groups_names=(world.group,)))
    world.clock.now_s += 10
    world.watcher.step([])
    assert world.committed() == {}
    world.clock.now_s += RECOMMIT_EVERY_S
    world.watcher.step([])
    assert world.committed() == {0: 4, 1: 4}


def test_an_ended_query_is_shown_with_its_reason(world: World) -> None:
    world.watcher.step([world.start(), read_progress(world.progress(0, 4, 4)), Ended(RUN_ID, "the disk is full")])
    (view,) = world.watcher.views()
    assert (view.state, view.error) == (FAILED, "the disk is full")
    assert world.committed() == {0: 4, 1: 4}
    metrics = world.metrics()
    assert metrics["barnabas_query_running", ""] == 0
    assert ("barnabas_query_lag_records", "0") not in metrics, "a figure that is not renewed would mislead"


def test_only_so_many_ended_queries_are_kept() -> None:
    watcher = Watcher(refresh_s=5)
    for number in range(ENDED_KEPT_MAX + 10):
        watcher.step([Started(f"query-{number}", f"run-{number}", None, ()), Ended(f"run-{number}", None)])
    assert len(watcher.views()) == ENDED_KEPT_MAX
    assert watcher.views()[0].query_id == "query-10"
    assert {view.state for view in watcher.views()} == {STOPPED}


def test_metrics_have_the_names_that_dashboards_know(world: World) -> None:
    world.watcher.step([world.start(), read_progress(world.progress(0, 4, 10))])
    metrics = world.metrics()
    assert metrics["kafka_consumergroup_lag", "0"] == metrics["barnabas_query_lag_records", "0"] == 6
    assert metrics["kafka_consumergroup_lag", "1"] == 0
    assert metrics["kafka_consumergroup_current_offset", "0"] == 4
    assert metrics["kafka_consumergroup_lag_sum", ""] == 6
    assert metrics["barnabas_query_backlog_age_seconds", "0"] == 96
    assert metrics["barnabas_query_backlog_age_seconds", "1"] == 0
    assert metrics["barnabas_query_retention_headroom_records", "1"] == 10
    assert metrics["barnabas_query_running", ""] == 1
    assert metrics["barnabas_query_rows_total", ""] == 6
    assert metrics["barnabas_query_batch_duration_seconds", ""] == 0.506
    assert metrics["barnabas_query_commit_failures_total", ""] == 0


def test_two_sources_of_one_group_make_no_series_twice(world: World) -> None:
    ends = {world.topic: {"0": 4, "1": 4}}
    text = progress_json(0, ends, ends)
    world.watcher.step([world.start(world.source(0), world.source(1)), read_progress(text)])
    registry = CollectorRegistry()
    registry.register(QueryCollector(world.watcher.views))
    lines = [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]
    names = [line.rpartition(" ")[0] for line in lines]
    assert len(names) == len(set(names))


def test_a_broker_that_is_away_leaves_the_last_figures_and_a_reason() -> None:
    with Broker() as broker:
        world = World(broker, "orders")
        opened: list[Cluster] = []

        def open_cluster(settings: ClientSettings) -> Cluster:
            opened.append(Cluster(settings))
            return opened[-1]

        source = SourceWatch(0, PlannedSource("barnabas", world.options), open_cluster=open_cluster)
        world.watcher.step([world.start((0, source)), read_progress(world.progress(0, 4, 4))])
        (cluster,) = opened
        cluster.retry_for_s = 0
        broker.stop()
        world.clock.now_s += 10
        world.watcher.step([read_progress(world.progress(1, 5, 5))])
        (view,) = world.watcher.views()
        assert view.sources[0].lag == 12
        assert view.sources[0].trouble is not None
        assert view.commits_failed > 0
        broker.start()
        cluster.retry_for_s = 30
        world.clock.now_s += 10
        world.watcher.step([])
        (view,) = world.watcher.views()
        assert (view.sources[0].lag, view.sources[0].trouble) == (10, None)
        assert world.committed() == {0: 5, 1: 5}, "it is tried again although no batch follows"
        world.watcher.close(timeout_s=10)


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd", "lz4", "snappy"])
def test_the_first_unread_record_is_dated_inside_a_batch(
    barnabas_broker: Broker, barnabas_topic: str, compression: str
) -> None:
    barnabas_broker.create_topic(barnabas_topic)
    producer = Producer(
        {"bootstrap.servers": barnabas_broker.bootstrap_servers, "linger.ms": 200, "compression.type": compression}
    )
    for number in range(100):
        producer.produce(barnabas_topic, b"r" * 100, timestamp=WRITTEN_MS + number)
    assert producer.flush(10) == 0
    with Cluster(client_settings({"bootstrap.servers": barnabas_broker.bootstrap_servers})) as cluster:
        for position in (0, 1, 57, 99):
            found = oldest_unread_ms(cluster, {(barnabas_topic, 0): position})
            assert found == {(barnabas_topic, 0): WRITTEN_MS + position}
        assert oldest_unread_ms(cluster, {(barnabas_topic, 0): 100, ("nowhere", 0): 0}) == {}


def test_a_report_of_losses_is_dated_where_records_are_left(world: World) -> None:
    losses = [
        Loss(world.topic, 0, 1, 4),
        Loss(world.topic, 1, 1, None, Cause.GONE),
        Loss("nowhere", 0, 1, 4),
    ]
    servers = {"bootstrap.servers": world.broker.bootstrap_servers}
    with Cluster(client_settings(servers)) as cluster:
        found = dated(cluster, losses)
    assert [loss.oldest_left_ms for loss in found] == [WRITTEN_MS + 4000, None, None]
    nobody = client_settings({"bootstrap.servers": f"127.0.0.1:{pick_free_port('127.0.0.1')}"})
    with Cluster(nobody, retry_for_s=0) as cluster:
        assert dated(cluster, losses) == losses


def test_append_time_dates_a_batch_as_the_broker_did(barnabas_broker: Broker, barnabas_topic: str) -> None:
    barnabas_broker.create_topic(barnabas_topic, config={"message.timestamp.type": "LogAppendTime"})
    producer = Producer({"bootstrap.servers": barnabas_broker.bootstrap_servers})
    producer.produce(barnabas_topic, b"r", timestamp=WRITTEN_MS)
    assert producer.flush(10) == 0
    with Cluster(client_settings({"bootstrap.servers": barnabas_broker.bootstrap_servers})) as cluster:
        found = oldest_unread_ms(cluster, {(barnabas_topic, 0): 0})
    assert abs(found[barnabas_topic, 0] - time.time() * 1000) < 60_000


def test_bytes_that_cannot_be_read_have_no_date() -> None:
    assert first_timestamp_ms(b"", 0) is None
    assert first_timestamp_ms(bytes(16) + b"\x01" + bytes(100), 0) is None, "a format of long ago"


def test_markers_of_transactions_are_no_records(barnabas_broker: Broker, barnabas_topic: str) -> None:
    barnabas_broker.create_topic(barnabas_topic)
    producer = Producer(
        {"bootstrap.servers": barnabas_broker.bootstrap_servers, "transactional.id": f"{barnabas_topic}-writer"}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(barnabas_topic, b"r", timestamp=WRITTEN_MS)
    producer.commit_transaction(30)
    with Cluster(client_settings({"bootstrap.servers": barnabas_broker.bootstrap_servers})) as cluster:
        assert oldest_unread_ms(cluster, {(barnabas_topic, 0): 0}) == {(barnabas_topic, 0): WRITTEN_MS}
        assert oldest_unread_ms(cluster, {(barnabas_topic, 0): 1}) == {}, "only the marker is left"


@pytest.fixture
def server(world: World) -> Iterator[StatusServer]:
    world.watcher.step([world.start(), read_progress(world.progress(0, 4, 10))])
    served = StatusServer(
        "127.0.0.1",
        0,
        metrics=lambda accept: (f"metrics for {accept}".encode(), "text/plain"),
        queries=lambda: as_json(world.watcher.views(), WRITTEN_MS + 100_000),
    )
    yield served
    served.close()


def get(server: StatusServer, path: str, **headers: str) -> tuple[str, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


def test_the_server_publishes_metrics_and_json(server: StatusServer) -> None:
    assert get(server, "/metrics", Accept="any")[0] == "metrics for any"
    body, content_type = get(server, "/queries?pretty")
    assert content_type == "application/json"
    (query,) = json.loads(body)["queries"]
    assert (query["query"], query["state"], query["batch_id"]) == ("billing", "running", 0)
    assert (query["sources"][0]["lag"], query["sources"][0]["age_seconds"]) == (6, 96)
    assert [one["lag"] for one in query["sources"][0]["partitions"]] == [6, 0]
    assert "/metrics" in get(server, "/")[0]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(server, "/passwords")


def test_json_has_no_infinity(world: World) -> None:
    world.watcher.step([world.start(), read_progress(world.progress(0, 0, 0))])
    world.clock.now_s += 10
    world.produce(5, first=10)
    world.watcher.step([])

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is no JSON")

    document = json.loads(as_json(world.watcher.views(), WRITTEN_MS), parse_constant=refuse)
    source = document["queries"][0]["sources"][0]
    assert (source["catching_up"], source["catch_up_seconds"]) == (False, None)
    assert world.metrics()["barnabas_query_catch_up_seconds", ""] == float("inf")


def test_the_thread_finishes_what_was_noted_before_it_ends(world: World) -> None:
    watcher = Watcher(refresh_s=3600)
    watcher.start()
    watcher.note(world.start())
    watcher.note(read_progress(world.progress(0, 4, 5)))
    assert watcher.close(timeout_s=30)
    assert world.committed() == {0: 4, 1: 5}
