"""The broker under test: our own, which may be killed, or an existing cluster, which is not."""

import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.testing.broker import Broker
from barnabas.testing.checker.clients.session import COMMON, report
from barnabas.testing.checker.workloads import Workload
from barnabas.testing.runner import BrokerDidNotStart

# So that some kills happen during the broker's chores.
PROPERTIES: Final = {
    "log.flush.offset.checkpoint.interval.ms": "300",
    "log.retention.check.interval.ms": "1000",
    "log.cleaner.backoff.ms": "500",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "auto.create.topics.enable": "false",
    # As short as the session timeout of classic clients.
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
}
SEGMENT_BYTES: Final = 1 << 20


class OwnBroker:
    def __init__(self, directory: Path, fault: str | None = None) -> None:
        self._broker = Broker(process=True, properties=PROPERTIES, data_dir=directory / "data", fault=fault)
        self._broker.start()

    @property
    def bootstrap(self) -> str:
        return self._broker.bootstrap_servers

    def kill(self) -> None:
        if self._broker.is_running():
            self._broker.kill()

    def start(self) -> None:
        if not self._broker.is_running():
            self._broker.start()

    def kill_while_it_starts(self, delay_s: float) -> None:
        """The broker is down when this returns."""

        def kill_it() -> None:
            while not self._broker.is_running():
                time.sleep(0.001)
            pid = self._broker.pid
            time.sleep(delay_s)
            os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill_it)
        killer.start()
        try:
            self._broker.start()
        except BrokerDidNotStart as error:
            report(f"killed while it started: {error}")
        killer.join()
        self.kill()

    def pause(self) -> None:
        self._broker.pause()

    def resume(self) -> None:
        self._broker.resume()

    def close(self) -> None:
        self._broker.close()


class OtherCluster:
    """An existing Kafka cluster."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def close(self) -> None:
        """Nothing to close; the topics are kept for inspection."""


def create_topics(bootstrap: str, workload: Workload, config: dict[str, Any]) -> None:
    admin = AdminClient({**COMMON, "bootstrap.servers": bootstrap, **config})
    topics = [
        NewTopic(name, num_partitions=count, replication_factor=-1, config=_topic_config(name, workload))
        for name, count in workload.partitions.items()
    ]
    for name, created in admin.create_topics(topics, request_timeout=30).items():
        try:
            created.result()
        except KafkaException as error:
            raise RuntimeError(f"topic {name} cannot be created at {bootstrap}: {error}") from error
    _wait_for_leaders(admin, list(workload.partitions))


def _topic_config(topic: str, workload: Workload) -> dict[str, str]:
    return {"segment.bytes": str(SEGMENT_BYTES)} | ({"flush.messages": "1"} if topic in workload.synced else {})


def _wait_for_leaders(admin: AdminClient, topics: Sequence[str]) -> None:
    deadline = time.monotonic() + 30
    while True:
        known = admin.list_topics(timeout=10).topics
        if all(name in known and all(each.leader >= 0 for each in known[name].partitions.values()) for name in topics):
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"no leaders for {', '.join(topics)} within 30 s")
        time.sleep(0.1)
