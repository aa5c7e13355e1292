"""Which commands there are, in the sections and the order of `barnabas --help`.

Only names and summaries: a command's module is imported when it is called. So the help page needs no typer, and a
command pays for nothing but itself.
"""

from typing import Final

from barnabas.cli.kafka.scripts import SCRIPTS

SERVE: Final = "serve"
VERSION: Final = "version"

SECTIONS: Final = {
    "Broker": {
        SERVE: "Run a broker.",
    },
    "Topics, records and groups, of any Kafka cluster": {
        "topic": "Create, list, describe, alter and delete topics.",
        "produce": "Send lines from stdin, one record each.",
        "consume": "Write records to stdout, one per line.",
        "group": "List, describe, reset and delete groups of consumers.",
        "txn": "List and describe transactions, find those that hang, abort.",
        "config": "Get, set and unset settings of topics and brokers.",
        "cluster": "Show brokers, features, log directories and API versions.",
    },
    "Files": {
        "log": "Dump and verify logs on disk; no broker is needed.",
        "archive": "Keep the history of topics as Parquet files, beside the log.",
    },
    "Pipelines": {
        "pipeline": "Create, check, draw, test and run pipelines from topics to topics and tables.",
        "spark": "Prepare Spark on this machine.",
    },
    "More": {
        "completion": "Print a completion script for bash, zsh or fish.",
        VERSION: "Show the version.",
    },
    "Kafka's scripts, with Kafka's flags; a name may end in .sh": {
        name: script.summary for name, script in SCRIPTS.items()
    },
}

COMMANDS: Final = {name: summary for section in SECTIONS.values() for name, summary in section.items()}
"""The summary of each."""
