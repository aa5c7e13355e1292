"""Every key of pipeline.yaml: what it takes, what it is for. The reader and the reference page are made from this."""

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
    """Where it stands in the file; capitals are names that the user chooses."""
    about: str
    keys: tuple[Key, ...]
    example: str
    """What a hint shows."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.keys)


def _one_of(choices: type[Format | Framing | Mode | Otherwise | OutputFormat | Start]) -> str:
    return ", ".join(f"`{choice}`" for choice in choices)


PROJECT = Section(
    "pipeline.yaml",
    "The file itself.",
    (
        Key("name", "name", "The project's name; it begins the names of what the project keeps in the log.", True),
        Key("log", "section", "Where the topics are.", True),
        Key("spark", "section", "How Spark is started. Without it: in this machine, on all its cores."),
        Key("sources", "names and sections", "Topics to read, each decoded into rows.", True),
        Key("tables", "names and sections", "Files to join with: rows that do not stream."),
        Key("flows", "names and sections", "Rows made from rows.", True),
        Key("trigger", "duration", "How often flows run that do not say so themselves, and queries for dead letters."),
        Key("dead_letters", "section", "Where records go that fit no schema or break a rule."),
        Key("profiles", "names and parts of this file", "What `--profile NAME` puts over the rest."),
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
    "Passed on to Spark as it is.",
    (
        Key("master", "text", "`local[2]`, `spark://host:7077` and so on."),
        Key("conf", "names and values", "Spark's settings, such as `spark.sql.shuffle.partitions: 4`."),
    ),
    "spark: {master: local[2]}",
)
SOURCE = Section(
    "sources.NAME",
    "A topic, read as rows. SQL sees it as a table of this name. Beside its own columns each row has `_key`, `_topic`, "
    "`_partition`, `_offset`, `_timestamp` and `_headers`.",
    (
        Key("topic", "text", "The topic's name.", True),
        Key("format", _one_of(Format), "How values are written. `text` and `binary` give one column, `value`.", True),
        Key("schema", "columns", "For json and csv: `id STRING, at TIMESTAMP`. For avro: the schema as JSON or YAML."),
        Key("schema_file", "file", "The same in a file of its own."),
        Key("framing", _one_of(Framing), "For avro: what stands before the value. Without it: none."),
        Key(
            "format_options",
            "names and values",
            "Options of Spark's reader of csv or json, such as `delimiter: ;`. For avro: `registry`, the address of a "
            "schema registry.",
        ),
        Key("start", _one_of(Start), "Where to begin when there is no checkpoint yet. Without it: earliest."),
        Key("options", "names and values", "Options of the read, such as `maxOffsetsPerTrigger: 100000`."),
        Key("late", "section", "Which rows come too late to be counted."),
        Key("watermark", "section", "How long windows and joins wait for rows."),
        Key("deduplicate", "section", "Which rows are the same."),
        Key("expect", "names and rules", "What must be true of every row."),
    ),
    "readings: {topic: telemetry, format: text}",
)
LATE = Section(
    "sources.NAME.late",
    "A row is late if its time is older than the time at which the log took it by more than this. Both stand in the "
    "record, so a replay finds the same rows late.",
    (
        Key("column", "column", "The time at which it happened.", True),
        Key("after", "duration", "How long a row may be on its way.", True),
    ),
    "late: {column: at, after: 30 seconds}",
)
WATERMARK = Section(
    "sources.NAME.watermark",
    "Spark's watermark: state older than the newest time seen minus the delay is finished and dropped.",
    (
        Key("column", "column", "The time at which it happened.", True),
        Key("delay", "duration", "At least as long as `late.after`.", True),
    ),
    "watermark: {column: at, delay: 1 minute}",
)
DEDUPLICATE = Section(
    "sources.NAME.deduplicate",
    "Of rows with the same values only the first goes on.",
    (
        Key("by", "columns", "What makes two rows the same: a column, or a list of columns.", True),
        Key("within", "duration", "For how long a row is remembered. Needs a `watermark`.", True),
    ),
    "deduplicate: {by: [id], within: 10 minutes}",
)
EXPECT = Section(
    "sources.NAME.expect.RULE, flows.NAME.expect.RULE",
    'A rule for every row; also in short, `RULE: "value > 0"`, which warns.',
    (
        Key("rule", "condition in SQL", "A row for which it is false or null breaks the rule.", True),
        Key("otherwise", _one_of(Otherwise), "What happens then. Without it: warn."),
    ),
    'plausible: {rule: "value > 0", otherwise: drop}',
)
TABLE = Section(
    "tables.NAME",
    "Files, read as a table that flows can join with. One of `parquet`, `csv` and `json`.",
    (
        Key("parquet", "file or folder", "Parquet files."),
        Key("csv", "file or folder", "CSV files, the first line of which has the columns' names. Needs a `schema`."),
        Key("json", "file or folder", "Files with one JSON object in each line. Needs a `schema`."),
        Key("schema", "columns", "Names and types of the columns."),
    ),
    "devices: {parquet: data/devices}",
)
FLOW = Section(
    "flows.NAME",
    "Rows made from rows, by `sql` or by `python`. A flow with an output runs as one streaming query; one without is a "
    "view that other flows read by its name.",
    (
        Key("sql", "file or query", "A file, or the query itself. It reads sources, tables and flows by their names."),
        Key(
            "python",
            "file:function",
            "A function that returns a DataFrame. Its parameters are its inputs by name; "
            "`spark` is the session, `inputs` a dict of all inputs.",
        ),
        Key("inputs", "names", "What the flow reads, where it cannot be seen from the SQL or the parameters."),
        Key("output", "section", "Where its rows go."),
        Key(
            "trigger",
            "duration",
            "How often it runs. Without it: as the project says, or as soon as there are rows.",
        ),
        Key("expect", "names and rules", "What must be true of every row that comes out."),
    ),
    "averages: {sql: sql/averages.sql, output: {topic: averages}}",
)
OUTPUT = Section(
    "flows.NAME.output",
    "One of `topic`, `table` and `console`. Topics and tables are written exactly once.",
    (
        Key("topic", "text", "The topic's name."),
        Key("key", "column", "With a topic: which column is the record's key."),
        Key(
            "format",
            _one_of(OutputFormat),
            "With a topic: how values are written; text and binary take the column `value`. Without it: json.",
        ),
        Key("mode", _one_of(Mode), "With a topic or the console: Spark's output mode. Without it: append."),
        Key("options", "names and values", "With a topic: options of the write, such as `partitioner: murmur2`."),
        Key("table", "folder", "A folder of Parquet files."),
        Key("partition_by", "columns", "With a table: a folder for each value of these columns."),
        Key("console", "true", "Print rows, for a first look."),
    ),
    "output: {topic: averages}",
)
DEAD_LETTERS = Section(
    "dead_letters",
    "Each dead letter is the record as it was, with the error, the flow and its place in the log as headers.",
    (Key("topic", "text", "The topic's name. Without it: the project's name and `.dead-letters`.", True),),
    "dead_letters: {topic: telemetry.dead}",
)

SECTIONS = (
    PROJECT, LOG, SPARK, SOURCE, LATE, WATERMARK, DEDUPLICATE, EXPECT, TABLE, FLOW, OUTPUT, DEAD_LETTERS,
)  # fmt: skip
