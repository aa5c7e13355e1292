"""Helpers for tests of the archive: one-line operations on a broker and on files."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from barnabas.archive.run import Job, Watcher, archive
from barnabas.client.properties import client_settings
from barnabas.client.settings import ClientSettings
from barnabas.history.manifest import Manifest, topic_folder

TIMEOUT_S = 60.0


def settings(bootstrap: str) -> ClientSettings:
    return client_settings({"bootstrap.servers": bootstrap})


def write(bootstrap: str, topic: str, values: Iterable[bytes | None], *, partition: int = 0, **more: Any) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1})
    for value in values:
        producer.produce(topic, value, partition=partition, **more)
    assert producer.flush(TIMEOUT_S) == 0


def transactional(bootstrap: str, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "linger.ms": 1})
    producer.init_transactions(TIMEOUT_S)
    return producer


def write_transaction(bootstrap: str, topic: str, values: Iterable[bytes], *, commit: bool) -> None:
    producer = transactional(bootstrap, f"{topic}-writer")
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    if commit:
        producer.commit_transaction(TIMEOUT_S)
    else:
        producer.abort_transaction(TIMEOUT_S)


def delete_records(bootstrap: str, topic: str, before: int, *, partition: int = 0) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_records([Place(topic, partition, before)]).values():
        future.result(TIMEOUT_S)


def delete_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_topics([topic]).values():
        future.result(TIMEOUT_S)


def archived(bootstrap: str, topic: str, history: Path, watcher: Watcher | None = None, **job: Any) -> Manifest:
    return archive(settings(bootstrap), Job([topic], history, **job), watcher)[topic]


def rows_of(history: Path, manifest: Manifest) -> Any:
    """All rows of a history as one table, as the manifest orders them."""
    folder = topic_folder(history, manifest.topic)
    tables = [pq.ParquetFile(folder / piece.file).read() for piece in manifest.files() if piece.file]
    return pa.concat_tables(tables, promote_options="default")


def values_of(history: Path, manifest: Manifest) -> list[bytes | None]:
    return list(rows_of(history, manifest).column("value").to_pylist())


def now_ms() -> int:
    return int(time.time() * 1000)
