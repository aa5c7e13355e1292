"""Files that a project names: relative to its folder, and there."""

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from barnabas.pipeline.project.nodes import Scalar
from barnabas.pipeline.project.problems import Document, Report

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_TEXT_MAX_BYTES = 1 << 20
"""Of a query, a schema, a function: nobody writes more than a megabyte by hand."""


@dataclass(frozen=True)
class Files:
    folder: Path
    report: Report
    kept: Path | None = None
    """Where texts are read instead: a copy of them that was made earlier. Data are always in the project's folder."""
    texts: dict[str, str] = field(default_factory=dict)
    """All that were read, by their names."""

    def path(self, name: str) -> str:
        """Absolute, unless it is an address of a file system that only Spark can see, such as `s3a://...`."""
        return name if _ADDRESS.match(name) else str(self.folder / name)

    def check_there(self, name: Scalar, what: str) -> None:
        if not _ADDRESS.match(name.text) and not self._exists(self.folder / name.text):
            self.report.add(
                name.place, f"there is no {what} `{name.text}`", f"make it; paths begin at the project: {self.folder}"
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
                f"make it; paths begin at the project: {self.folder}",
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
        """The Python files beside this one, which it may import."""
        for path in sorted(self.text_path(name).parent.glob("*.py")):
            try:
                text = path.read_bytes()[:_TEXT_MAX_BYTES].decode(errors="replace")
            except OSError:
                continue  # it is not asked for by its name; who imports it will say so
            self.texts.setdefault(str(PurePosixPath(name).parent / path.name), text)

    def _exists(self, path: Path) -> bool:
        try:
            return path.exists()
        except (OSError, ValueError):
            return False


def kept_name(name: str) -> str:
    """Of a copy: inside of its folder, also where a project takes a file from elsewhere."""
    parts = ["_up" if part == ".." else "_root" if part == "/" else part for part in PurePosixPath(name).parts]
    return "/".join(parts)


def decoded(name: str, data: bytes, report: Report) -> Document | None:
    """Text in UTF-8; lines end with one character, so that places can be counted."""
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
