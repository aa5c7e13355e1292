"""Files that a project names: relative to its folder, and there."""

import re
from dataclasses import dataclass
from pathlib import Path

from barnabas.pipeline.project.nodes import Scalar
from barnabas.pipeline.project.problems import Document, Report

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_TEXT_MAX_BYTES = 1 << 20
"""Of a query, a schema, a function: nobody writes more than a megabyte by hand."""


@dataclass(frozen=True)
class Files:
    folder: Path
    report: Report

    def path(self, name: str) -> str:
        """Absolute, unless it is an address of a file system that only Spark can see, such as `s3a://...`."""
        return name if _ADDRESS.match(name) else str(self.folder / name)

    def check_there(self, name: Scalar, what: str) -> None:
        if not _ADDRESS.match(name.text) and not self._exists(self.folder / name.text):
            self.report.add(
                name.place, f"there is no {what} `{name.text}`", f"make it; paths begin at the project: {self.folder}"
            )

    def read(self, name: Scalar, what: str) -> Document | None:
        path = self.folder / name.text
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
        return decoded(name.text, data, self.report)

    def _exists(self, path: Path) -> bool:
        try:
            return path.exists()
        except (OSError, ValueError):
            return False


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
