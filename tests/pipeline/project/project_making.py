"""Write and load a project in its own folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from barnabas.pipeline.project import Project, ProjectInvalid, load

HEAD = """\
name: shop
log: {bootstrap: "localhost:9092"}
"""
SOURCES = """\
sources:
  orders:
    topic: orders
    format: json
    schema: "id STRING, at TIMESTAMP, amount DOUBLE"
"""
FLOWS = """\
flows:
  large:
    sql: SELECT * FROM orders
    output: {topic: large}
"""


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def loaded(folder: Path, yaml: str, *, files: Mapping[str, str] | None = None, **how: object) -> Project:
    write(folder, {"pipeline.yaml": dedent(yaml), **(files or {})})
    return load(folder, **{"environment": {}, **how})  # type: ignore[arg-type]


def mistakes(folder: Path, yaml: str, *, files: Mapping[str, str] | None = None, **how: object) -> Sequence[str]:
    """Each mistake as it is printed."""
    with pytest.raises(ProjectInvalid) as caught:
        loaded(folder, yaml, files=files, **how)
    return [str(problem) for problem in caught.value.problems]
