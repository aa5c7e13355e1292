"""Reads the log and the outputs of the pipeline with other tools: librdkafka and pyarrow.

Spark's Parquet tables list their files in `_spark_metadata`. Files of a killed batch are not listed there and do not
count: Spark does not read them either.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlparse

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from demo.classify import Average, LogRecord, Minute
from demo.plan import ANOMALIES, AVERAGES, DEAD_LETTERS, HISTORY, TOPIC
from demo.proof import DeadLetter, HistoryRow, Outputs
from demo.sender import ID_HEADER

DEAD = "barnabas.dead."
_FETCH = 5000
_PATIENCE_S = 30.0


class ReadRecord(NamedTuple):
    partition: int
    offset: int
    timestamp_ms: int
    value: bytes
    headers: dict[str, bytes]


def read_log(servers: str) -> list[LogRecord]:
    return [
        LogRecord(
            (record.partition, record.offset), record.timestamp_ms, record.headers[ID_HEADER].decode(), record.value
        )
        for record in read_topic(servers, TOPIC)
    ]


def read_outputs(servers: str, folder: Path, version: str = "v1") -> Outputs:
    """v1 writes to the names in pipeline.yaml, other versions append their own name.

    Dead letters of all versions are in one topic; a header has the version.
    """
    suffix = "" if version == "v1" else f".{version}"
    return Outputs(
        history=read_history(folder / (HISTORY + suffix)),
        averages=[as_average(record.value) for record in read_topic(servers, AVERAGES + suffix)],
        anomalies=[json.loads(record.value)["id"] for record in read_topic(servers, ANOMALIES + suffix)],
        dead_letters=[
            _dead_letter(record)
            for record in read_topic(servers, DEAD_LETTERS)
            if record.headers[f"{DEAD}version"].decode() == version
        ],
    )


def read_topic(servers: str, topic: str) -> list[ReadRecord]:
    """All committed records, each partition in order; empty if the topic does not exist."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "demo-judge",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    try:
        found = consumer.list_topics(topic, timeout=_PATIENCE_S).topics[topic]
        if found.error is not None:
            return []
        consumer.assign([TopicPartition(topic, partition, 0) for partition in found.partitions])
        records = list(_records(consumer, len(found.partitions)))
    finally:
        consumer.close()
    records.sort(key=lambda record: (record.partition, record.offset))
    return records


def _records(consumer: Consumer, partitions: int) -> Iterator[ReadRecord]:
    at_end: set[int] = set()
    while len(at_end) < partitions:
        for message in consumer.consume(_FETCH, timeout=1.0):
            if message.error() is None:
                yield ReadRecord(
                    message.partition(),
                    message.offset(),
                    message.timestamp()[1],
                    message.value() or b"",
                    dict(message.headers() or ()),
                )
            elif message.error().code() == KafkaError._PARTITION_EOF:
                at_end.add(message.partition())
            else:
                raise KafkaException(message.error())


def read_history(table: Path) -> list[HistoryRow]:
    import pyarrow.parquet as parquet

    columns = ["id", "log_partition", "log_offset", "device_group", "value"]
    rows: list[HistoryRow] = []
    for file in listed_files(table):
        found = parquet.read_table(file, columns=columns).to_pydict()
        for id_, partition, offset, group, value in zip(*(found[column] for column in columns), strict=True):
            rows.append(HistoryRow(id_, (partition, offset), group, value))
    return rows


def listed_files(table: Path) -> list[Path]:
    """From Spark's list: a file for each batch, and now and then a compacted one with all before it."""
    batches: dict[int, Path] = {}
    whole = -1
    for entry in (table / "_spark_metadata").glob("*"):
        if name := re.fullmatch(r"(\d+)(\.compact)?", entry.name):
            number = int(name[1])
            whole = max(whole, number) if name[2] else whole
            if name[2] or number not in batches:
                batches[number] = entry
    files: dict[Path, None] = {}
    for number in sorted(batches):
        if number >= whole:
            for line in batches[number].read_text().splitlines()[1:]:  # the first line is the format version
                entry_of: dict[str, Any] = json.loads(line)
                files[Path(unquote(urlparse(entry_of["path"]).path))] = None
    return list(files)


def as_average(value: bytes) -> tuple[Minute, Average]:
    """A record of the topic of averages."""
    row = json.loads(value)
    return Minute(row["device_group"], _ms(row["minute"])), Average(row["readings"], row.get("average"))


def _ms(time: str) -> int:
    from datetime import datetime

    return round(datetime.fromisoformat(time).timestamp() * 1000)


def _dead_letter(record: ReadRecord) -> DeadLetter:
    headers = record.headers
    place = int(headers[f"{DEAD}partition"]), int(headers[f"{DEAD}offset"])
    return DeadLetter(headers[f"{DEAD}topic"].decode(), place, record.value)
