"""A small project with the test's own broker: its input, and the output that read_committed consumers get."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from barnabas.client.cluster import Cluster
from barnabas.client.producer import Producer
from barnabas.client.properties import client_settings
from barnabas.client.transaction_log import log_bounds, read_log
from barnabas.pipeline.project import Project, load
from barnabas.records.control import read_marker
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.testing import Broker

YAML = """\
name: shop
log: {{bootstrap: "{bootstrap}"}}
sources:
  orders:
    topic: orders
    format: json
    schema: "id STRING, amount DOUBLE"
flows:
  large:
    sql: sql/large.sql
    output: {{topic: large, key: id}}
"""
LARGE = "SELECT id, amount FROM orders WHERE amount >= 100\n"


def project(folder: Path, broker: Broker | str, yaml: str = YAML, **files: str) -> Project:
    """`files`: by name, with `__` for `/` and `_dot_` for `.`."""
    bootstrap = broker if isinstance(broker, str) else broker.bootstrap_servers
    texts = {"sql/large.sql": LARGE} | {
        name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()
    }
    for name, text in {**texts, "pipeline.yaml": yaml.format(bootstrap=bootstrap)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return load(folder, environment={})


def cluster_of(broker: Broker) -> Cluster:
    return Cluster(client_settings({"bootstrap.servers": broker.bootstrap_servers}))


def produce(broker: Broker, topic: str, values: Sequence[object], *, partition: int = 0) -> None:
    now_ms = int(time.time() * 1000)
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    with cluster_of(broker) as cluster, Producer(cluster) as producer:
        for start in range(0, len(texts), 500):
            records = [Record(0, now_ms, None, text.encode()) for text in texts[start : start + 500]]
            producer.send(topic, partition, bytearray(build_batch(records)))


def committed(broker: Broker, topic: str) -> list[Record]:
    """In the order of each partition."""
    found: list[Record] = []
    with cluster_of(broker) as cluster:
        for partition in cluster.topics([topic])[topic].partitions:
            place = topic, partition.partition_index
            pending: dict[int, list[Record]] = {}
            start, end = log_bounds(cluster, *place)
            for batch in read_log(cluster, *place, start=start, end=end):
                producer = batch.header.producer_id
                if not batch.header.is_control:
                    assert batch.header.is_transactional, "a pipeline writes exactly once"
                    pending.setdefault(producer, []).extend(decode_records(batch, max_bytes=1 << 24))
                    continue
                ended, marker = pending.pop(producer, []), read_marker(batch)
                if marker is not None and marker.commit:
                    found += ended
    return found


def rows(broker: Broker, topic: str) -> list[dict[str, Any]]:
    return [json.loads(record.value or b"null") for record in committed(broker, topic)]
