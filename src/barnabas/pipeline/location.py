"""Where a project and its state are. Nothing is read here: a project whose file is broken can still be stopped."""

import re
from pathlib import Path

from barnabas.spark.errors import UserError

FILE_NAME = "pipeline.yaml"
STATE_FOLDER = ".barnabas"
FIRST_VERSION = "v1"

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,30}")
"""It becomes a folder name and the end of topic names."""


def find(where: Path) -> Path:
    """The file of the project in a folder, or the file itself."""
    file = where / FILE_NAME if where.is_dir() else where
    if not file.is_file():
        raise UserError(
            f"there is no {FILE_NAME} in {where.resolve()}" if where.is_dir() else f"there is no file {where}",
            "go to the folder of a project, or create one: barnabas pipeline init NAME",
        )
    return file.resolve()


def states(where: Path) -> Path:
    """The folder with the state of all versions of the project."""
    return find(where).parent / STATE_FOLDER


def state_folder(states: Path, version: str) -> Path:
    """The folder of one version."""
    if not _VERSION.fullmatch(version):
        raise UserError(
            f"`{version}` cannot be the name of a version", "use at most 31 letters, digits, `_` and `-`, such as v2"
        )
    return states / version
