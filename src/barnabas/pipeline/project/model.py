"""A pipeline project as it was declared and checked: nouns only, frozen, without Spark.

Whoever holds a `Project` may rely on it: names are found, files exist, columns are in their schemas, nothing goes in
circles. What only Spark or the log can know (whether SQL is right, whether a topic is there) is not checked here.
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
"""What every source has beside the columns of its schema: where a record stood in the log, and since when."""

REGISTRY = "registry"
"""The format option of Avro: the address of a schema registry."""


class Format(StrEnum):
    """How the value of a record is written."""

    JSON = "json"
    AVRO = "avro"
    CSV = "csv"
    TEXT = "text"
    BINARY = "binary"


class Framing(StrEnum):
    """What stands before an Avro value: nothing, or a zero byte and the id of a schema in a registry."""

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
    """How the value of an output record is written; `text` and `binary` take the column `value` as it is."""

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
    """Kafka's own settings for the source and the sink, each with `kafka.` before it."""

    def spark_options(self) -> dict[str, str]:
        """As `format("barnabas")` takes them."""
        return {**self.options, "kafka.bootstrap.servers": self.bootstrap}


@dataclass(frozen=True)
class SparkSettings:
    """How Spark is started: `session(master=..., **conf)`."""

    master: str | None
    conf: Mapping[str, str]


@dataclass(frozen=True)
class Late:
    """A row is late if its `column` is older than its record's own timestamp in the log by more than `after`."""

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
    """A condition in Spark's SQL. A row for which it is not true (false or null) breaks it."""
    otherwise: Otherwise
    written: Scalar | None = field(default=None, compare=False, repr=False)
    """Where it stands, for whoever has something to say about it."""


@dataclass(frozen=True)
class Source:
    """A topic, decoded into rows."""

    name: str
    topic: str
    format: Format
    schema: Schema
    """`schema.ddl` for Spark; for Avro, `schema.avro` is the schema's own JSON text beside it."""
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
    """Rows at rest: the static side of a join."""

    name: str
    format: TableFormat
    path: str
    """Absolute, or an address of a file system that Spark knows, such as `s3a://...`."""
    schema: Schema | None


@dataclass(frozen=True)
class SqlQuery:
    file: Path | None
    """None: the query stands in pipeline.yaml itself."""
    text: str
    written: Scalar | None = field(default=None, compare=False, repr=False)
    """Where it stands, for whoever has something to say about it."""


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
    """A folder of Parquet files, which grows."""

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
    """How often; None: as the project says."""
    expect: tuple[Expectation, ...]


@dataclass(frozen=True)
class DeadLetters:
    topic: str


@dataclass(frozen=True)
class Project:
    folder: Path
    """Absolute. Flows' files, tables and the state are below it."""
    file: Path
    name: str
    log: Log
    spark: SparkSettings
    sources: Mapping[str, Source]
    tables: Mapping[str, Table]
    flows: Mapping[str, Flow]
    """Each after all flows that it reads."""
    trigger: Duration | None
    """Of flows that have none of their own."""
    dead_letters: DeadLetters
    texts: Mapping[str, str]
    """What it was read from, by name: pipeline.yaml, queries, schemas, Python files and those beside them."""
    profile: str | None
    overrides: tuple[str, ...]
    """With which it was read; `load` takes them again."""

    def state_folder(self, version: str = FIRST_VERSION) -> Path:
        """Where a version keeps its checkpoints and says how it is."""
        return state_folder(self.folder / STATE_FOLDER, version)

    def checkpoint(self, flow: str, version: str = FIRST_VERSION) -> Path:
        return self.state_folder(version) / flow / "checkpoint"

    def trigger_of(self, flow: Flow | None) -> Duration | None:
        """How often; None: as soon as there is something to do. The dead letters of a source are not of a flow."""
        return (flow.trigger if flow else None) or self.trigger

    def running_flows(self) -> tuple[Flow, ...]:
        """Those with an output: each is one streaming query."""
        return tuple(flow for flow in self.flows.values() if flow.output is not None)

    def sources_of(self, flow: str) -> tuple[Source, ...]:
        """The sources that a flow reads, itself or through other flows; each once, in the order of the file."""
        wanted, pending = set[str](), [flow]
        while pending:
            for name in self.flows[pending.pop()].inputs:
                if name not in wanted:
                    wanted.add(name)
                    pending += [name] if name in self.flows else []
        return tuple(source for name, source in self.sources.items() if name in wanted)
