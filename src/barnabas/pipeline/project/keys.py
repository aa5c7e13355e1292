"""Every key of pipeline.yaml: its values and its purpose. The reader and the reference page use this table."""

from dataclasses import dataclass

from barnabas.pipeline.project.model import (
    Format,
    Framing,
    Mode,
    Otherwise,
    OutputFormat,
    Start,
)


@dataclass(frozen=True)
class Key:
    name: str
    takes: str
    about: str
    required: bool = False


@dataclass(frozen=True)
class Section:
    path: str
    """Its path in the file; names in capitals are chosen by the user."""
    about: str
    keys: tuple[Key, ...]
    example: str
    """Shown in hints."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.keys)


def _one_of(choices: type[Format | Framing | Mode | Otherwise | OutputFormat | Start]) -> str:
    return ", ".join(f"`{choice}`" for choice in choices)


PROJECT = Section(
    "pipeline.yaml",
    "The file itself.",
    (
        Key(
            "name",
            "name",
            "The project's name; a prefix of its consumer groups, transactional ids and dead-letter topic.",
            True,
        ),
        Key("log", "section", "Where the topics are.", True),
        Key("spark", "section", "How Spark is started. Default: on this machine, with all its cores."),
        Key("sources", "names and sections", "Topics to read, each decoded into rows.", True),
        Key("tables", "names and sections", "Files to join with: static rows."),
        Key("flows", "names and sections", "Rows made from rows.", True),
        Key(
            "trigger",
            "duration",
            "How often flows run that have no `trigger` of their own, and queries for dead letters.",
        ),
        Key("dead_letters", "section", "Where records go that do not match their schema or break a rule."),
        Key("profiles", "names and parts of this file", "What `--profile NAME` changes in the rest."),
    ),
    "name: telemetry",
)
LOG = Section(
    "log",
    "Any broker that speaks Kafka's protocol.",
    (
        Key("bootstrap", "text", "`host:port` of a broker; several separated by commas.", True),
        Key("options", "names and values", "Kafka's settings, such as `kafka.security.protocol: SASL_SSL`."),
    ),
    "log: {bootstrap: localhost:9092}",
)
SPARK = Section(
    "spark",
    "Passed to Spark unchanged.",
    (
        Key("master", "text", "`local[2]`, `spark://host:7077` and so on."),
        Key("conf", "names and values", "Spark's settings, such as `spark.sql.shuffle.partitions: 4`."),
    ),
    "spark: {master: local[2]}",
)
SOURCE = Section(
    "sources.NAME",
    "A topic, read as rows. In SQL it is a table of this name. Besides its own columns each row has `_key`, `_topic`, "
    "`_partition`, `_offset`, `_timestamp` and `_headers`.",
    (
        Key("topic", "text", "The topic's name.", True),
        Key("format", _one_of(Format), "The format of values. `text` and `binary` have one column, `value`.", True),
        Key("schema", "columns", "For json and csv: `id STRING, at TIMESTAMP`. For avro: the schema as JSON or YAML."),
        Key("schema_file", "file", "The schema in a separate file."),
        Key("framing", _one_of(Framing), "For avro: the bytes before the value. Default: none."),
        Key(
            "format_options",
            "names and values",
            "Options of Spark's reader of csv or json, such as `delimiter: ;`. For avro: `registry`, the address of a "
            "schema registry.",
        ),
        Key("start", _one_of(Start), "Where to begin when there is no checkpoint yet. Default: earliest."),
        Key("options", "names and values", "Options of the read, such as `maxOffsetsPerTrigger: 100000`."),
        Key("late", "section", "Which rows are too late to be used."),
        Key("watermark", "section", "How long windows and joins wait for rows."),
        Key("deduplicate", "section", "Which rows are duplicates."),
        Key("expect", "names and rules", "Rules that every row must satisfy."),
    ),
    "readings: {topic: telemetry, format: text}",
)
LATE = Section(
    "sources.NAME.late",
    "A row is late if its time is older than the record's timestamp by more than this. Both are in the record, so a "
    "replay finds the same rows late.",
    (
        Key("column", "column", "The event time.", True),
        Key("after", "duration", "How much time a row may take to reach the topic.", True),
    ),
    "late: {column: at, after: 30 seconds}",
)
WATERMARK = Section(
    "sources.NAME.watermark",
    "Spark's watermark: state older than the newest time seen minus the delay is finished and dropped.",
    (
        Key("column", "column", "The event time.", True),
        Key("delay", "duration", "At least as long as `late.after`.", True),
    ),
    "watermark: {column: at, delay: 1 minute}",
)
DEDUPLICATE = Section(
    "sources.NAME.deduplicate",
    "Of several rows with the same values only the first is used.",
    (
        Key("by", "columns", "The columns that identify a row: one, or a list.", True),
        Key("within", "duration", "How long a row is remembered. Needs a `watermark`.", True),
    ),
    "deduplicate: {by: [id], within: 10 minutes}",
)
EXPECT = Section(
    "sources.NAME.expect.RULE, flows.NAME.expect.RULE",
    'A rule for every row; also in short, `RULE: "value > 0"`, which warns.',
    (
        Key("rule", "condition in SQL", "A row for which it is false or null breaks the rule.", True),
        Key("otherwise", _one_of(Otherwise), "What happens then. Default: warn."),
    ),
    'plausible: {rule: "value > 0", otherwise: drop}',
)
TABLE = Section(
    "tables.NAME",
    "Files, read as a table that flows can join. One of `parquet`, `csv` and `json`.",
    (
        Key("parquet", "file or folder", "Parquet files."),
        Key("csv", "file or folder", "CSV files with the names of the columns in the first line. Need a `schema`."),
        Key("json", "file or folder", "Files with one JSON object per line. Need a `schema`."),
        Key("schema", "columns", "Names and types of the columns."),
    ),
    "devices: {parquet: data/devices}",
)
FLOW = Section(
    "flows.NAME",
    "Rows made from rows, by `sql` or by `python`. A flow with an output runs as one streaming query; one without is a "
    "view that other flows read by its name.",
    (
        Key("sql", "file or query", "A file, or the query itself. It reads sources, tables and flows by name."),
        Key(
            "python",
            "file:function",
            "A function that returns a DataFrame. Its parameters are its inputs by name; "
            "`spark` is the session, `inputs` a dict of all inputs.",
        ),
        Key("inputs", "names", "What the flow reads, if that is not clear from the SQL or the parameters."),
        Key("output", "section", "Where its rows go."),
        Key(
            "trigger",
            "duration",
            "How often it runs. Default: the project's `trigger`, or as soon as there are rows.",
        ),
        Key("expect", "names and rules", "Rules that every row of the flow must satisfy."),
    ),
    "averages: {sql: sql/averages.sql, output: {topic: averages}}",
)
OUTPUT = Section(
    "flows.NAME.output",
    "One of `topic`, `table` and `console`. Topics and tables are written exactly once.",
    (
        Key("topic", "text", "The topic's name."),
        Key("key", "column", "With a topic: the column that becomes the record's key."),
        Key(
            "format",
            _one_of(OutputFormat),
            "With a topic: the format of values; text and binary use the column `value`. Default: json.",
        ),
        Key("mode", _one_of(Mode), "With a topic or the console: Spark's output mode. Default: append."),
        Key("options", "names and values", "With a topic: options of the write, such as `partitioner: murmur2`."),
        Key("table", "folder", "A folder of Parquet files."),
        Key("partition_by", "columns", "With a table: a folder for each value of these columns."),
        Key("console", "true", "Print rows, for a first look."),
    ),
    "output: {topic: averages}",
)
DEAD_LETTERS = Section(
    "dead_letters",
    "Each dead letter is the original record, with the error, the flow and its place in the log as headers.",
    (Key("topic", "text", "The topic's name. Default: the project's name and `.dead-letters`.", True),),
    "dead_letters: {topic: telemetry.dead}",
)

SECTIONS = (
    PROJECT, LOG, SPARK, SOURCE, LATE, WATERMARK, DEDUPLICATE, EXPECT, TABLE, FLOW, OUTPUT, DEAD_LETTERS,
)  # fmt: skip
