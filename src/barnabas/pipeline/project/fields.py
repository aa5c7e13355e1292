"""Reads one section: knows its keys, and turns their values into Python values or problems.

A value that is missing or wrong becomes an empty one of its type, so that reading continues and finds the next mistake;
the report then prevents the project from being used.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TypeVar

from barnabas.model.quantities import NotADuration
from barnabas.pipeline.project.durations import Duration, duration
from barnabas.pipeline.project.keys import Section
from barnabas.pipeline.project.nodes import UNKNOWN, Entries, Items, Node, Scalar
from barnabas.pipeline.project.problems import Place, Report
from barnabas.spark.options.names import nearest

Choice = TypeVar("Choice", bound=StrEnum)

_NO_ENTRIES: Mapping[str, tuple[Scalar, Node]] = {}


class Fields:
    def __init__(self, report: Report, section: Section, node: Node, owner: Place, what: str) -> None:
        """`owner` is the place of the section's own key, `what` names it in messages: source `readings`."""
        self.report = report
        self.owner = owner
        self.what = what
        self._section = section
        self._entries = _NO_ENTRIES
        self.readable = isinstance(node, Entries)
        if isinstance(node, Entries):
            self._entries = node.entries
            self._check_keys()
        elif not _is_unknown(node):
            report.add(node.place, f"{what} must be a mapping, not {node.kind}", f"write `{section.example}`")

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def node(self, name: str) -> Node | None:
        found = self._entries.get(name)
        return None if found is None else found[1]

    def place(self, name: str) -> Place:
        """The place of a value; if it is missing, of its section."""
        found = self._entries.get(name)
        return self.owner if found is None else found[1].place

    def key_place(self, name: str) -> Place:
        found = self._entries.get(name)
        return self.owner if found is None else found[0].place

    def scalar(self, name: str) -> Scalar | None:
        """A piece of text, which is not empty."""
        node = self.node(name)
        if node is None or _is_unknown(node):
            return None
        if not isinstance(node, Scalar) or node.kind != "text":
            hint = f"write it in quotes: '{node.text}'" if isinstance(node, Scalar) and node.text else self._write(name)
            self.report.add(node.place, f"`{name}` must be text, not {node.kind}", hint)
            return None
        if not node.text.strip():
            self.report.add(node.place, f"`{name}` is empty", self._write(name))
            return None
        return node

    def text(self, name: str) -> str | None:
        found = self.scalar(name)
        return None if found is None else found.text

    def choice(self, name: str, choices: type[Choice], default: Choice) -> Choice:
        return self.chosen(name, choices) or default

    def chosen(self, name: str, choices: type[Choice]) -> Choice | None:
        """None where it is missing or wrong."""
        found = self.scalar(name)
        if found is None:
            return None
        if found.text in list(choices):
            return choices(found.text)
        guess = nearest(found.text, choices)
        known = ", ".join(choices)
        hint = f"did you mean `{guess}`? It can be {known}" if guess else f"it can be {known}"
        self.report.add(found.place, f"`{name}` cannot be `{found.text}`", hint)
        return None

    def duration(self, name: str) -> Duration | None:
        node = self.node(name)
        if isinstance(node, Scalar) and node.kind == "a number":
            self.report.add(
                node.place, f"`{node.text}` has no unit", f"write for example `{name}: {node.text} seconds`"
            )
            return None
        found = self.scalar(name)
        if found is None:
            return None
        try:
            read = duration(found.text)
        except NotADuration as error:
            hint = f"write for example `{name}: 30 seconds`, or minutes, hours, days"
            self.report.add(found.place, str(error), hint)
            return None
        if not read.ms:
            self.report.add(found.place, f"`{name}` must be longer than 0", "write for example `1 second`")
            return None
        return read

    def texts(self, name: str) -> tuple[Scalar, ...]:
        """A text, or a list of them."""
        node = self.node(name)
        if node is None:
            return ()
        if not isinstance(node, Items):
            found = self.scalar(name)
            return () if found is None else (found,)
        if not node.items:
            self.report.add(node.place, f"`{name}` is empty", f"name at least one, or leave `{name}` out")
        good = []
        for item in node.items:
            if isinstance(item, Scalar) and item.kind == "text" and item.text.strip():
                good.append(item)
            elif not _is_unknown(item):
                kind = "empty" if isinstance(item, Scalar) and item.kind == "text" else item.kind
                self.report.add(
                    item.place, f"`{name}` must be a list of texts, not of {kind}", f"write `{name}: [a, b]`"
                )
        return tuple(good)

    def flag(self, name: str) -> bool:
        node = self.node(name)
        if node is None or _is_unknown(node):
            return False
        if not isinstance(node, Scalar) or node.kind != "true or false":
            self.report.add(node.place, f"`{name}` must be true or false, not {node.kind}", f"write `{name}: true`")
            return False
        return node.text.lower() in ("true", "yes", "on")

    def options(self, name: str) -> dict[str, Scalar]:
        """Names and values; a value may be a number or a flag, and is used as it is written. Its place is that of the
        name, because only the name can be wrong."""
        found: dict[str, Scalar] = {}
        for key, value in self._children(name):
            if isinstance(value, Scalar) and value.kind != "nothing":
                found[key.text] = Scalar(key.place, value.text, value.kind)
            else:
                self.report.add(
                    value.place, f"`{key.text}` must be a single value, not {value.kind}", "write `name: value`"
                )
        return found

    def sections(self, name: str) -> Iterator[tuple[Scalar, Node]]:
        """The names that the user chose, and the value of each."""
        return self._children(name)

    def section(self, name: str, section: Section) -> "Fields | None":
        found = self._entries.get(name)
        if found is None:
            return None
        return Fields(self.report, section, found[1], found[0].place, f"`{name}` of {self.what}" if self.what else name)

    def _children(self, name: str) -> Iterator[tuple[Scalar, Node]]:
        node = self.node(name)
        if node is None:
            return
        if not isinstance(node, Entries):
            self.report.add(node.place, f"`{name}` must be a mapping, not {node.kind}", self._write(name))
            return
        yield from node.entries.values()

    def _check_keys(self) -> None:
        known = self._section.names
        guessed = set[str | None]()
        for name, (key, _) in self._entries.items():
            if name not in known:
                guess = nearest(name, [each for each in known if each not in self._entries])
                guessed.add(guess)
                hint = f"did you mean `{guess}`?" if guess else f"known here: {', '.join(known)}"
                self.report.add(key.place, f"unknown key `{name}` in {self.what}", hint)
        for key_ in self._section.keys:
            if key_.required and key_.name not in self._entries and key_.name not in guessed:
                self.report.add(
                    self.owner, f"{self.what} has no `{key_.name}`", f"add it, for example: `{self._section.example}`"
                )

    def _write(self, name: str) -> str:
        key = next(each for each in self._section.keys if each.name == name)
        return f"it takes: {key.takes}"


def _is_unknown(node: Node) -> bool:
    return isinstance(node, Scalar) and node.kind == UNKNOWN
