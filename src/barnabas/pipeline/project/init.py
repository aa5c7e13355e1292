"""Creates a new project from a template: a few small files that work as they are and are meant to be changed."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from barnabas.pipeline.project.names import check_project_name
from barnabas.pipeline.project.nodes import Scalar
from barnabas.pipeline.project.problems import Document, Report
from barnabas.spark.errors import UserError

_SUFFIX = ".template"
_DOT = "dot-"
"""Many packaging tools leave out files that begin with a dot."""


def init(folder: Path, template: str) -> list[Path]:
    """Returns the files that were created, relative to the folder. Overwrites nothing. Templates are folders here."""
    folder = folder.resolve()
    _check_name(folder.name)
    contents = {
        path: text.replace("{{name}}", folder.name)
        for path, text in _texts(files("barnabas.pipeline.project") / "templates" / template, Path())
    }
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file", "choose another name")
    there = sorted(str(path) for path in contents if (folder / path).exists())
    if there:
        shown = ", ".join(there[:3]) + (", ..." if len(there) > 3 else "")
        raise UserError(f"{folder} has a project already: {shown}", "choose another name, or remove these files first")
    try:
        for path, text in contents.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with (folder / path).open("x", encoding="utf-8") as opened:
                opened.write(text)
    except OSError as error:
        raise UserError(
            f"{error.filename} cannot be written: {error.strerror}", "choose a folder that you can write to"
        ) from None
    return sorted(contents)


def _texts(folder: Traversable, path: Path) -> list[tuple[Path, str]]:
    found: list[tuple[Path, str]] = []
    for each in folder.iterdir():
        if each.is_dir():
            found += _texts(each, path / each.name)
        elif each.name.endswith(_SUFFIX):
            name = each.name.removesuffix(_SUFFIX)
            name = f".{name.removeprefix(_DOT)}" if name.startswith(_DOT) else name
            found.append((path / name, each.read_text(encoding="utf-8")))
    return found


def _check_name(name: str) -> None:
    report = Report()
    flag = Document(f"init {name}", name, is_flag=True)
    check_project_name(Scalar(flag.place(0, len(name)), name, "text"), report)
    report.raise_if_any()
