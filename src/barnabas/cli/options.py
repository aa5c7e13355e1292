"""The option `--format`, spelled the same everywhere."""

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    table = "table"
    json = "json"


OutputFormat = Annotated[Format, typer.Option("--format", help="A table for people or JSON for scripts.")]
