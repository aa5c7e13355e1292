"""Lineage as a tree for a terminal, from topics down to outputs. A join is drawn where it is first reached."""

from barnabas.pipeline.graph.model import Arrow, Box, Graph, Kind

_FANCY = {"|": "│  ", "+": "├─ ", "L": "└─ ", ">": "─▶", "!": "╌▶", "*": "·"}
_PLAIN = {"|": "|  ", "+": "+- ", "L": "`- ", ">": "->", "!": "~>", "*": "-"}


def text_of(graph: Graph, *, fancy: bool = True) -> str:
    """`fancy`: with line-drawing characters, which need UTF-8."""
    return _Drawing(graph, _FANCY if fancy else _PLAIN).lines()


class _Drawing:
    def __init__(self, graph: Graph, signs: dict[str, str]) -> None:
        self._graph = graph
        self._signs = signs
        self._shown = set[str]()
        self._lines: list[str] = []

    def lines(self) -> str:
        roots = [box for box in self._graph.boxes if not self._graph.before(box.id)]
        # A table is shown where it is joined; one that nothing reads is shown here.
        roots = [box for box in roots if box.kind is not Kind.TABLE or not self._graph.after(box.id)]
        for root in [*roots, *self._graph.boxes]:
            if root.id not in self._shown and (root in roots or root.kind is not Kind.TABLE):
                if self._lines:
                    self._lines.append("")
                self._draw(root, "", "")
        return "\n".join(self._lines) + "\n"

    def _draw(self, box: Box, first: str, rest: str) -> None:
        if box.id in self._shown:
            self._lines.append(f"{first}{box.kind} {box.name} (above)")
            return
        self._shown.add(box.id)
        outputs, below = self._after(box)
        self._lines.append(f"{first}{box.kind} {box.name}{self._joined(box)}")
        leaves = [f"{self._signs['*']} {detail}" for detail in box.details]
        leaves += [f"expects {rule.name}: {rule.rule}, otherwise {rule.otherwise}" for rule in box.rules]
        leaves += [self._leaf(arrow) for arrow in outputs]
        margin = rest + (self._signs["|"] if below else "   ")
        self._lines += [margin + leaf for leaf in leaves]
        for index, arrow in enumerate(below):
            last = index == len(below) - 1
            self._draw(
                self._graph.box(arrow.end),
                rest + self._signs["L" if last else "+"],
                rest + ("   " if last else self._signs["|"]),
            )

    def _after(self, box: Box) -> tuple[list[Arrow], list[Arrow]]:
        """Arrows to outputs, which need a line, and arrows to other flows, which need a branch."""
        leaves: list[Arrow] = []
        branches: list[Arrow] = []
        for arrow in self._graph.after(box.id):
            end = self._graph.box(arrow.end)
            rests = not self._graph.after(end.id) and end.kind not in (Kind.FLOW, Kind.VIEW, Kind.SOURCE)
            (leaves if rests else branches).append(arrow)
        return leaves, branches

    def _leaf(self, arrow: Arrow) -> str:
        end = self._graph.box(arrow.end)
        self._shown.add(end.id)
        about = f" ({'; '.join(end.details)})" if end.details else ""
        name = "" if end.kind is Kind.CONSOLE else f" {end.name}"
        return f"{self._signs['!' if arrow.is_bad else '>']} {end.kind}{name}{about}"

    def _joined(self, box: Box) -> str:
        if box.kind not in (Kind.FLOW, Kind.VIEW):
            return ""
        inputs = [self._graph.box(arrow.start) for arrow in self._graph.before(box.id)]
        others = [f"{each.kind} {each.name}" for each in inputs if each.kind is Kind.TABLE or len(inputs) > 1]
        for each in inputs:
            if each.kind is Kind.TABLE:
                self._shown.add(each.id)
        return f" {self._signs['*']} reads {', '.join(others)}" if others else ""
