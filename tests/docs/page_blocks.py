"""The blocks of a page: what stands between three backticks, with its kind."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = (
    "README.md",
    "CONTRIBUTING.md",
    *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")),
)

_BLOCK = re.compile(r"^( *)```([^\n`]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"(?:#|--) (\S+\.\w+)\n")
_SHELL_KINDS = ("console", "sh")
_LEFT_OUT = "..."

Commands = list[tuple[str, list[str]]]
"""Each command with the output on the page."""


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    kind: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line} ({self.kind})"

    def with_other_text(self, replaced: Mapping[str, str]) -> "Block":
        """`replaced`: what stands for other text of the page, such as smaller numbers."""
        text = self.text
        for old, new in replaced.items():
            text = text.replace(old, new)
        return replace(self, text=text)

    @property
    def is_of_a_shell(self) -> bool:
        return self.kind in _SHELL_KINDS

    @property
    def names_a_file(self) -> str | None:
        """A block that begins with a comment like `# program.py` is that file."""
        name = _FILE_NAME.match(self.text)
        return name[1] if name else None

    @property
    def commands(self) -> Commands:
        """A block of the kind `sh` has commands alone, without prompts and output."""
        if self.kind == "sh":
            return [(line, []) for line in _joined(self.text).splitlines() if line]
        return commands_of(self.text)


def blocks_on(page: str) -> list[Block]:
    text = (ROOT / page).read_text()
    return [Block(page, text.count("\n", 0, found.start()) + 1, found[2], found[3]) for found in _BLOCK.finditer(text)]


def commands_of(text: str) -> Commands:
    commands: Commands = []
    for line in _joined(text).splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif line and line.strip() != _LEFT_OUT and commands:
            commands[-1][1].append(line)
    return commands


def _joined(text: str) -> str:
    return text.replace("\\\n", " ")
