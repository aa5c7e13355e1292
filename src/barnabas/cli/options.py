"""Options that several commands share, spelled the same everywhere."""

from enum import StrEnum
from typing import Annotated

import typer

DEFAULT_SERVERS = "localhost:9092"

Servers = Annotated[
    str,
    typer.Option(
        "--bootstrap-server",
        "-b",
        metavar="HOST:PORT",
        envvar="BARNABAS_BOOTSTRAP_SERVER",
        help="Where the broker listens; several separated by commas.",
    ),
]

ClientConfig = Annotated[
    list[str] | None,
    typer.Option(
        "--client-config",
        "-X",
        metavar="KEY=VALUE",
        help="A setting of librdkafka, such as security.protocol=SSL; repeatable.",
    ),
]


class Format(StrEnum):
    table = "table"
    json = "json"


OutputFormat = Annotated[Format, typer.Option("--format", help="A table for people or JSON for scripts.")]
