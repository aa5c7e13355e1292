"""The outputs that a version owns: its topics and tables, as they were when it first wrote to them.

Kept in `outputs.json` beside the checkpoints. A checkpoint and an output belong together: with another topic of the
same name, or another version's table, rows would be missing or duplicated, unnoticed.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from barnabas.portable.replacement import replace_file
from barnabas.spark.errors import UserError

FILE_NAME = "outputs.json"


@dataclass(frozen=True)
class Claims:
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Identifies the folder, also in the record of which folder runs the version (`owner`)."""
    topics: Mapping[str, str] = field(default_factory=dict)
    """By name, the topic's id, which changes when it is deleted and created again."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """By path, a random id that is also in the table's folder."""
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By flow, the columns that a table has: name and type."""


def read(state_folder: Path) -> Claims:
    file = state_folder / FILE_NAME
    try:
        return msgspec.json.decode(file.read_bytes(), type=Claims)
    except FileNotFoundError:
        return Claims()
    except (OSError, msgspec.MsgspecError) as error:
        raise UserError(
            f"{file}, the list of this version's outputs, cannot be read: {error}",
            "restore it from a backup, or remove it and run with --into-existing",
        ) from None


def write(state_folder: Path, claims: Claims) -> None:
    state_folder.mkdir(parents=True, exist_ok=True)
    content = msgspec.json.format(msgspec.json.encode(claims), indent=2) + b"\n"
    replace_file(state_folder / FILE_NAME, content, sync=True)
