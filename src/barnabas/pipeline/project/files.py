"""The files that a project names, relative to its folder; reports those that do not exist."""

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from barnabas.pipeline.project.nodes import Scalar
from barnabas.pipeline.project.problems import Document, Report

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_TEXT_MAX_BYTES = 1 << 20
"""For a query, a schema or a function. Nobody writes more by hand."""


@dataclass(frozen=True)
class Files:
    folder: Path
    report: Report
    kept: Path | None = None
    """A folder with an earlier copy of the texts, to read instead. Data files are always in the project's folder."""
    texts: dict[str, str] = field(default_factory=dict)
    """All texts that were read, by name."""

    def path(self, name: str) -> str:
        """Absolute, unless it is on a file system that only Spark can reach, such as `s3a://...`."""
        return name if _ADDRESS.match(name) else str(self.folder / name)

    def check_there(self, name: Scalar, what: str) -> None:
        if not _ADDRESS.match(name.text) and not self._exists(self.folder / name.text):
            self.report.add(
                name.place,
                f"there is no {what} `{name.text}`",
                f"create it; paths are relative to the project: {self.folder}",
            )

    def text_path(self, name: str) -> Path:
        return self.folder / name if self.kept is None else self.kept / kept_name(name)

    def read(self, name: Scalar, what: str) -> Document | None:
        path = self.text_path(name.text)
        try:
            data = path.read_bytes()[: _TEXT_MAX_BYTES + 1]
        except (OSError, ValueError) as error:
            reason = "" if isinstance(error, FileNotFoundError) else f" that can be read ({_reason(error)})"
            self.report.add(
                name.place,
                f"there is no {what} `{name.text}`{reason}",
                f"create it; paths are relative to the project: {self.folder}",
            )
            return None
        if len(data) > _TEXT_MAX_BYTES:
            self.report.add(name.place, f"the {what} `{name.text}` is larger than a megabyte", "is it the right file?")
            return None
        document = decoded(name.text, data, self.report)
        if document is not None:
            self.texts[name.text] = document.text
        return document

    def add_modules(self, name: str) -> None:
        """The Python files in the same folder, which it may import."""
        for path in sorted(self.text_path(name).parent.glob("*.py")):
            try:
                text = path.read_bytes()[:_TEXT_MAX_BYTES].decode(errors="replace")
            except OSError:
                continue  # it is not named in the project; an import of it will fail
            self.texts.setdefault(str(PurePosixPath(name).parent / path.name), text)

    def _exists(self, path: Path) -> bool:
        try:
            return path.exists()
        except (OSError, ValueError):
            return False


def kept_name(name: str) -> str:
    """The name of a copy: always inside the folder of copies, also for a file from outside the project."""
    parts = ["_up" if part == ".." else "_root" if part == "/" else part for part in PurePosixPath(name).parts]
    return "/".join(parts)


def decoded(name: str, data: bytes, report: Report) -> Document | None:
    """Text in UTF-8, with one character per line end, so that places can be counted."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(errors="replace")
        document = Document(name, before + data[error.start :].decode(errors="replace"))
        report.add(document.place(len(before)), "not text in UTF-8", "save the file in UTF-8")
        return None
    return Document(name, text.replace("\r\n", "\n").replace("\r", "\n"))


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
