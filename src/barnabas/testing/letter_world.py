"""Writes dead letters as the pipeline engine does, and reads the source topic."""

from collections.abc import Sequence
from pathlib import Path

from barnabas.client.cluster import Cluster
from barnabas.client.errors import check
from barnabas.client.properties import client_settings
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.pipeline.dead_letters.reading import committed_range
from barnabas.pipeline.flow import dead_letter_headers as names
from barnabas.pipeline.project import Project, load
from barnabas.records.record import Header, Record, build_batch
from barnabas.spark.source.fetch import read_range
from barnabas.spark.source.ranges import OffsetRange
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

PROJECT = """
name: orders
log: {bootstrap: "%s"}
sources:
  orders:
    topic: %s
    format: json
    schema: "id STRING, at TIMESTAMP"
    watermark: {column: at, delay: 1 minute}
  other:
    topic: %s
    format: text
flows:
  counts:
    sql: SELECT id FROM orders UNION ALL SELECT value AS id FROM other
    output: {topic: %s.out}
dead_letters: {topic: %s.dead}
"""


class LetterWorld:
    def __init__(self, bootstrap: str, topic: str, folder: Path) -> None:
        self.topic = topic
        self.bootstrap = bootstrap
        (folder / "pipeline.yaml").write_text(PROJECT % (bootstrap, topic, topic, topic, topic))
        self.folder = folder
        self.project: Project = load(folder)
        self.settings = client_settings({"bootstrap.servers": bootstrap, "retry.backoff.ms": "2"})

    def create(self, topic: str, *, partitions: int = 1) -> None:
        made = CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1)
        with Cluster(self.settings) as cluster:
            answer = cluster.call("create_topics", CreateTopicsRequest(topics=(made,)))
            check(answer.topics[0].error_code, answer.topics[0].error_message)

    def write_letters(self, letters: Sequence[Record], *, partition: int = 0, commit: bool = True) -> None:
        """In a transaction, as the sink does."""
        with Cluster(self.settings) as cluster:
            transactions = Transactions(cluster)
            producer = transactions.take_over(f"{self.topic}-engine", timeout_ms=10_000)
            writer = TransactionWriter(cluster, transactions, producer)
            writer.append(f"{self.topic}.dead", partition, build_batch(letters))
            transactions.end(writer.producer, commit=commit)

    def sent(self) -> list[Record]:
        """The committed records of the source topic, by partition."""
        found: list[Record] = []
        with Cluster(self.settings) as cluster:
            there = committed_range(cluster, self.topic)
            for partition, start in there.starts.items():
                wanted = OffsetRange(self.topic, partition, start, there.ends[partition])
                columns = ("key", "value", "offset", "timestamp", "headers")
                for batch in read_range(cluster, wanted, columns=columns, isolation_level=1, fail_on_data_loss=True):
                    for row in batch.to_pylist():
                        headers = tuple(Header(each["key"], each["value"]) for each in row["headers"])
                        at_ms = round(row["timestamp"].timestamp() * 1000)
                        found.append(Record(row["offset"], at_ms, row["key"], row["value"], headers))
        return found


def letter(
    number: int,
    *,
    topic: str,
    origin: str = "orders",
    version: str = "v1",
    partition: int = 0,
    timestamp_ms: int,
    rule: str | None = None,
    own: Sequence[Header] = (),
) -> Record:
    headers = [
        Header(names.ERROR, b"`at` is not a TIMESTAMP"),
        Header(names.FLOW, origin.encode()),
        Header(names.PIPELINE, b"orders"),
        Header(names.VERSION, version.encode()),
        Header(names.TOPIC, topic.encode()),
        Header(names.PARTITION, str(partition).encode()),
        Header(names.OFFSET, str(number).encode()),
        Header(names.TIMESTAMP, str(timestamp_ms).encode()),
    ]
    if rule is not None:
        headers.append(Header(names.RULE, rule.encode()))
    return Record(0, timestamp_ms, b"key", b"%d" % number, (*own, *headers))


def renumbered(records: Sequence[Record]) -> list[Record]:
    return [record._replace(offset=number) for number, record in enumerate(records)]
