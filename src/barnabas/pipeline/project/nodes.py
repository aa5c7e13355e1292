"""YAML as a tree of nodes that know their place in the file. Invalid YAML is a problem with a place, too.

PyYAML parses; its nodes are converted, with environment variables substituted (`${NAME}`, `${NAME:default}`; `$${` is a
plain `${`) and limits on depth and size, because aliases can make a small file a huge tree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import yaml
from yaml.resolver import Resolver

from barnabas.pipeline.project.problems import Document, Place, Report
from barnabas.pipeline.project.variables import Missing, substitute

DEPTH_MAX = 40
NODES_MAX = 50_000
"""A project has a few hundred nodes; a thousand flows would come near this limit."""

UNKNOWN = "unknown"
"""The kind of a value whose variable is not set: that is reported once, and nothing else about the value."""

_KINDS = {"str": "text", "int": "a number", "float": "a number", "bool": "true or false", "null": "nothing"}


@dataclass(frozen=True)
class Scalar:
    place: Place
    text: str
    kind: str
    """For messages: text, a number, true or false, nothing, a date."""
    start: int | None = None
    """Where the text begins in the document, if it is there verbatim."""
    indent: int = 0
    """The indentation of a block of text, which is not part of `text`."""

    def place_of(self, position: int, length: int = 1) -> Place:
        """The place of a character of the text."""
        if self.start is None:
            return self.place
        shift = self.indent * (self.text.count("\n", 0, position) + 1)
        return self.place.document.place(self.start + position + shift, length)


@dataclass(frozen=True)
class Items:
    place: Place
    items: "tuple[Node, ...]"
    kind = "a list"


@dataclass(frozen=True)
class Entries:
    place: Place
    entries: "Mapping[str, tuple[Scalar, Node]]"
    """By name: the key with its place, and the value."""
    kind = "a mapping"


Node = Scalar | Items | Entries


class NotYaml(Exception):
    """The text cannot be parsed; the problem is in the report."""


def parse(document: Document, environment: Mapping[str, str], report: Report, *, offset: int = 0) -> Node:
    """The tree of a document, or of the part after `offset`."""
    text = document.text[offset:]
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = document.place(offset + (mark.index if mark else 0))
        # PyYAML's `context` says what it was doing, `problem` what is wrong; only the latter helps.
        report.add(place, f"not YAML: {error.problem}", _yaml_hint(document.line(place.line)))
        raise NotYaml from None
    except yaml.reader.ReaderError as error:
        report.add(
            document.place(offset + error.position),
            f"a character that YAML does not allow: {_code_point(error.character)}",
            "remove it; in double quotes it can be written as an escape",
        )
        raise NotYaml from None
    except RecursionError:
        report.add(document.place(offset), "nested too deeply", f"use at most {DEPTH_MAX} levels")
        raise NotYaml from None
    if root is None:
        return Scalar(document.place(offset), "", "nothing")
    return _Converter(document, offset, environment, report).convert(root, 0)


class _Converter:
    def __init__(self, document: Document, offset: int, environment: Mapping[str, str], report: Report) -> None:
        self._document = document
        self._offset = offset
        self._environment = environment
        self._report = report
        self._count = 0

    def convert(self, node: yaml.Node, depth: int) -> Node:
        self._count += 1
        place = self._place(node)
        if depth > DEPTH_MAX or self._count > NODES_MAX:
            what = "nested too deeply" if depth > DEPTH_MAX else "too large: more values than any pipeline needs"
            self._report.add(place, what, "look for an alias (*name) that contains itself or is used over and over")
            raise NotYaml
        if isinstance(node, yaml.SequenceNode):
            return Items(place, tuple(self.convert(item, depth + 1) for item in node.value))
        if isinstance(node, yaml.MappingNode):
            return self._entries(node, place, depth)
        assert isinstance(node, yaml.ScalarNode)
        return self._filled_in(self._scalar(node, place), node)

    def _entries(self, node: yaml.MappingNode, place: Place, depth: int) -> Entries:
        entries: dict[str, tuple[Scalar, Node]] = {}
        for key_node, value_node in node.value:
            key = self.convert(key_node, depth + 1)
            value = self.convert(value_node, depth + 1)
            if not isinstance(key, Scalar):
                self._report.add(key.place, f"a key must be text, not {key.kind}", "write `name: value`")
            elif key.text in entries:
                first = entries[key.text][0].place.line
                self._report.add(
                    key.place, f"the key `{key.text}` occurs twice", f"remove one; the first is in line {first}"
                )
            else:
                entries[key.text] = key, value
        return Entries(place, entries)

    def _scalar(self, node: yaml.ScalarNode, place: Place) -> Scalar:
        kind = _KINDS.get(node.tag.rpartition(":")[2], "a date" if node.tag.endswith("timestamp") else "a tagged value")
        start, indent = self._start_of(node)
        return Scalar(place, node.value, kind, start, indent)

    def _start_of(self, node: yaml.ScalarNode) -> tuple[int | None, int]:
        text, begin = self._document.text, self._offset + node.start_mark.index
        if node.style in ("'", '"') and text.startswith(node.value, begin + 1):
            return begin + 1, 0
        if not node.style and text.startswith(node.value, begin):
            return begin, 0
        if node.style == "|":
            first = text.find("\n", begin) + 1
            line = text[first:].partition("\n")[0]
            indent = len(line) - len(line.lstrip(" "))
            lines = [each.removeprefix(" " * indent) for each in text[first:].split("\n")]
            if first and node.value.strip("\n") and "\n".join(lines).startswith(node.value.rstrip("\n")):
                # An empty line may lack the indentation; then the places after it would be wrong.
                body = text[first:].split("\n")[: node.value.rstrip("\n").count("\n") + 1]
                return (first, indent) if all(each.startswith(" " * indent) for each in body) else (None, 0)
        return None, 0

    def _filled_in(self, scalar: Scalar, node: yaml.ScalarNode) -> Scalar:
        if "$" not in scalar.text:
            return scalar
        try:
            text = substitute(scalar.text, self._environment)
        except Missing as missing:
            self._report.add(scalar.place_of(missing.position, missing.length), str(missing), missing.hint)
            return replace(scalar, kind=UNKNOWN)
        if text == scalar.text:
            return scalar
        kind = scalar.kind
        if not node.style:
            tag = Resolver().resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]  # by its stubs
            kind = _KINDS.get(str(tag).rpartition(":")[2], "a date")
        return replace(scalar, text=text, kind=kind, start=None)

    def _place(self, node: yaml.Node) -> Place:
        begin, end = node.start_mark, node.end_mark
        length = end.index - begin.index if end.line == begin.line else 1
        if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
            length = node.value[0][0].end_mark.index - begin.index
        return self._document.place(self._offset + begin.index, max(1, length))


def _yaml_hint(line: str) -> str:
    if "\t" in line:
        return "YAML is indented by spaces, never by tabs"
    if line.count('"') % 2 or line.count("'") % 2:
        return "look for a quote that is not closed"
    return "look at the indentation and the colons here; put text with `: `, `#` or brackets in it into quotes"


def _code_point(character: object) -> str:
    return f"U+{character if isinstance(character, int) else ord(str(character)):04X}"
