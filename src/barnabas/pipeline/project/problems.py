"""A mistake in a project, shown at its place; all mistakes of a project are reported together.

pipeline.yaml:7:5: unknown key `topik` in source `readings`
  7 |     topik: telemetry
    |     ^^^^^
  hint: did you mean `topic`?
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from barnabas.spark.errors import HINT, UserError

_SHOWN_WIDTH = 160
"""A longer line is cut around the place: it would wrap, and the caret would point at something else."""


@dataclass(frozen=True)
class Document:
    """A text: a file, or the value of a flag."""

    name: str
    text: str = field(repr=False)
    is_flag: bool = False
    """A flag has no line numbers."""

    def place(self, index: int, length: int = 1) -> "Place":
        """The place of a character, counted from the beginning."""
        index = min(max(index, 0), len(self.text))
        line = self.text.count("\n", 0, index) + 1
        return Place(self, line, index - (self.text.rfind("\n", 0, index) + 1) + 1, length)

    def line(self, number: int) -> str:
        lines = self.text.split("\n", number)
        return lines[number - 1].rstrip("\r") if number <= len(lines) else ""


@dataclass(frozen=True)
class Place:
    document: Document
    line: int
    column: int
    length: int = 1

    def __str__(self) -> str:
        if self.document.is_flag:
            return self.document.name
        return f"{self.document.name}:{self.line}:{self.column}"

    def picture(self) -> str:
        """The line, and a caret under the place."""
        text = self.document.line(self.line)
        first = max(0, self.column - 1 - _SHOWN_WIDTH // 2) if len(text) > _SHOWN_WIDTH else 0
        shown = text[first : first + _SHOWN_WIDTH]
        column = self.column - 1 - first
        # A tab stays a tab below, so that the caret is in the right column for any tab width.
        blank = "".join("\t" if character == "\t" else " " for character in shown[:column])
        carets = "^" * max(1, min(self.length, len(shown) - column))
        number = "" if self.document.is_flag else str(self.line)
        return f"  {number} | {_plain(shown)}\n  {' ' * len(number)} | {blank}{carets}"


@dataclass(frozen=True)
class Problem:
    place: Place
    message: str
    hint: str

    def head(self) -> str:
        return f"{self.place}: {self.message}\n{self.place.picture()}"

    def as_object(self) -> dict[str, object]:
        """For scripts and editors. A flag has no lines."""
        is_flag = self.place.document.is_flag
        return {
            "file": self.place.document.name,
            "line": None if is_flag else self.place.line,
            "column": None if is_flag else self.place.column,
            "message": self.message,
            "hint": self.hint,
        }

    def __str__(self) -> str:
        return f"{self.head()}\n  {HINT}{self.hint}"


class ProjectInvalid(UserError):
    """Everything that is wrong with a project, in the order of its text."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        if len(self.problems) == 1:
            super().__init__(self.problems[0].head(), self.problems[0].hint)
        else:
            text = "\n\n".join(map(str, self.problems))
            super().__init__(
                f"{text}\n\n{len(self.problems)} problems",
                "correct them from the top, then run `barnabas pipeline check`",
            )

    def __reduce__(self) -> tuple[type[UserError], tuple[str, str]]:
        return UserError, (self.message, self.hint)  # another process only needs the text


@dataclass
class Report:
    """Collects problems, to report all of them together."""

    problems: list[Problem] = field(default_factory=list)

    def add(self, place: Place, message: str, hint: str) -> None:
        self.problems.append(Problem(place, message, hint))

    def raise_if_any(self) -> None:
        if self.problems:
            documents: dict[Document, int] = {}
            for problem in self.problems:
                documents.setdefault(problem.place.document, len(documents))
            raise ProjectInvalid(
                sorted(
                    dict.fromkeys(self.problems),
                    key=lambda each: (documents[each.place.document], each.place.line, each.place.column),
                )
            )


def _plain(text: str) -> str:
    """Without control characters, which could move the cursor of a terminal."""
    return "".join(character if character.isprintable() or character == "\t" else "\ufffd" for character in text)
