"""A pipeline project, as declared and checked: immutable data, without Spark.

In a `Project` all names are resolved, files exist, columns are in their schemas, and there are no cycles. What only
Spark or the broker can know (whether SQL is correct, whether a topic exists) is not checked here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from barnabas.pipeline.location import FIRST_VERSION, STATE_FOLDER, state_folder
from barnabas.pipeline.project.durations import Duration
from barnabas.pipeline.project.nodes import Scalar
from barnabas.pipeline.project.schemas import Schema

METADATA_COLUMNS = ("_key", "_topic", "_partition", "_offset", "_timestamp", "_headers")
"""Columns that every source has besides its schema: the place of the record in the log, its timestamp and headers."""

REGISTRY = "registry"
"""The format option of Avro: the address of a schema registry."""


class Format(StrEnum):
    """The format of a record's value."""

    JSON = "json"
    AVRO = "avro"
    CSV = "csv"
    TEXT = "text"
    BINARY = "binary"


class Framing(StrEnum):
    """The bytes before an Avro value: none, or a zero byte and the id of a schema in a registry."""

    NONE = "none"
    CONFLUENT = "confluent"


class Start(StrEnum):
    """Where a source begins when its flow has no checkpoint yet."""

    EARLIEST = "earliest"
    LATEST = "latest"


class Otherwise(StrEnum):
    """What happens to a row that breaks a rule."""

    WARN = "warn"
    DROP = "drop"
    DEAD_LETTER = "dead-letter"
    FAIL = "fail"


class Mode(StrEnum):
    """Spark's output modes."""

    APPEND = "append"
    UPDATE = "update"
    COMPLETE = "complete"


class OutputFormat(StrEnum):
    """The format of an output record's value; `text` and `binary` use the column `value` unchanged."""

    JSON = "json"
    CSV = "csv"
    TEXT = "text"
    BINARY = "binary"


class TableFormat(StrEnum):
    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


@dataclass(frozen=True)
class Log:
    """Where the topics are."""

    bootstrap: str
    options: Mapping[str, str]
    """Kafka's settings for the source and the sink, each with the prefix `kafka.`."""

    def spark_options(self) -> dict[str, str]:
        """For `format("barnabas")`."""
        return {**self.options, "kafka.bootstrap.servers": self.bootstrap}


@dataclass(frozen=True)
class SparkSettings:
    """How Spark is started: `session(master=..., **conf)`."""

    master: str | None
    conf: Mapping[str, str]


@dataclass(frozen=True)
class Late:
    """A row is late if its `column` is older than the timestamp of its record by more than `after`."""

    column: str
    after: Duration


@dataclass(frozen=True)
class Watermark:
    column: str
    delay: Duration


@dataclass(frozen=True)
class Deduplicate:
    by: tuple[str, ...]
    within: Duration


@dataclass(frozen=True)
class Expectation:
    name: str
    rule: str
    """A condition in SQL. A row for which it is false or null breaks the rule."""
    otherwise: Otherwise
    written: Scalar | None = field(default=None, compare=False, repr=False)
    """Its place in the file, for error messages."""


@dataclass(frozen=True)
class Source:
    """A topic, decoded into rows."""

    name: str
    topic: str
    format: Format
    schema: Schema
    """`schema.ddl` is for Spark; for Avro, `schema.avro` is the schema as JSON."""
    framing: Framing
    start: Start
    options: Mapping[str, str]
    """Options of the read, such as `maxOffsetsPerTrigger`, and `kafka.*` for this source alone."""
    format_options: Mapping[str, str]
    """Options of Spark's reader of this format, such as CSV's `delimiter`; of Avro, REGISTRY."""
    late: Late | None
    watermark: Watermark | None
    deduplicate: Deduplicate | None
    expect: tuple[Expectation, ...]


@dataclass(frozen=True)
class Table:
    """Static rows to join with."""

    name: str
    format: TableFormat
    path: str
    """Absolute, or on a file system that Spark can reach, such as `s3a://...`."""
    schema: Schema | None


@dataclass(frozen=True)
class SqlQuery:
    file: Path | None
    """None: the query is in pipeline.yaml itself."""
    text: str
    written: Scalar | None = field(default=None, compare=False, repr=False)
    """Its place in the file, for error messages."""


@dataclass(frozen=True)
class PythonFunction:
    """Called with its parameters by name: `spark` is the session, `inputs` a mapping of all, any other an input."""

    file: Path
    function: str
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class TopicOutput:
    topic: str
    key: str | None
    """The column that becomes the record's key."""
    format: OutputFormat
    mode: Mode
    options: Mapping[str, str]


@dataclass(frozen=True)
class TableOutput:
    """A folder of Parquet files that rows are appended to."""

    path: str
    partition_by: tuple[str, ...]


@dataclass(frozen=True)
class ConsoleOutput:
    mode: Mode


Output = TopicOutput | TableOutput | ConsoleOutput


@dataclass(frozen=True)
class Flow:
    """Rows made from rows. With an output it is a streaming query; without one, a view that other flows read."""

    name: str
    transform: SqlQuery | PythonFunction
    inputs: tuple[str, ...]
    """Names of sources, tables and flows, in the order in which they were found or declared."""
    output: Output | None
    trigger: Duration | None
    """How often it runs; None: as the project says."""
    expect: tuple[Expectation, ...]


@dataclass(frozen=True)
class DeadLetters:
    topic: str


@dataclass(frozen=True)
class Project:
    folder: Path
    """Absolute. Contains the files of flows, tables and the state."""
    file: Path
    name: str
    log: Log
    spark: SparkSettings
    sources: Mapping[str, Source]
    tables: Mapping[str, Table]
    flows: Mapping[str, Flow]
    """Each after all flows that it reads."""
    trigger: Duration | None
    """For flows that have none of their own."""
    dead_letters: DeadLetters
    texts: Mapping[str, str]
    """The texts it was read from, by name: pipeline.yaml, queries, schemas, Python files and those in their folders."""
    profile: str | None
    overrides: tuple[str, ...]
    """Arguments for `load`, to read it again."""

    def state_folder(self, version: str = FIRST_VERSION) -> Path:
        """Where a version keeps its checkpoints and its status."""
        return state_folder(self.folder / STATE_FOLDER, version)

    def checkpoint(self, flow: str, version: str = FIRST_VERSION) -> Path:
        return self.state_folder(version) / flow / "checkpoint"

    def trigger_of(self, flow: Flow | None) -> Duration | None:
        """How often it runs; None: as soon as there are rows. Without a flow: for the dead letters of a source."""
        return (flow.trigger if flow else None) or self.trigger

    def running_flows(self) -> tuple[Flow, ...]:
        """The flows with an output: each is one streaming query."""
        return tuple(flow for flow in self.flows.values() if flow.output is not None)

    def sources_of(self, flow: str) -> tuple[Source, ...]:
        """The sources that a flow reads, directly or through other flows, in the order of the file."""
        wanted, pending = set[str](), [flow]
        while pending:
            for name in self.flows[pending.pop()].inputs:
                if name not in wanted:
                    wanted.add(name)
                    pending += [name] if name in self.flows else []
        return tuple(source for name, source in self.sources.items() if name in wanted)
