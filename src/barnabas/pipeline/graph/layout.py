"""Places the boxes of a drawing: in layers from left to right, with few crossings, each near its neighbours.

The usual steps of a layered layout. The layer of a box is its longest path from a start; an arrow over several layers
gets a place in each of them, so that it passes between boxes; boxes in a layer are ordered by the median of their
neighbours (a few sweeps forward and back); their heights are the nearest to their neighbours' that keep the order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from barnabas.pipeline.graph.model import Graph, Kind

_SWEEPS = 8
_SWEEPS_OF_HEIGHTS = 300
_STRAIGHT = 100
_BEND_HEIGHT = 8.0


@dataclass(frozen=True)
class Size:
    width: float
    height: float


@dataclass(frozen=True)
class Spot:
    """The upper left corner of a box, and its width: all boxes of a layer have the width of the widest."""

    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Layout:
    spots: Mapping[str, Spot]
    ways: Sequence[Sequence[tuple[float, float]]]
    """For each arrow: its start, the points where it passes layers (two in each), its end."""
    width: float
    height: float


def lay_out(graph: Graph, sizes: Mapping[str, Size], *, gap_x: float, gap_y: float) -> Layout:
    return _Layers(graph, sizes, gap_x, gap_y).layout()


class _Layers:
    def __init__(self, graph: Graph, sizes: Mapping[str, Size], gap_x: float, gap_y: float) -> None:
        self._graph = graph
        self._gap_x, self._gap_y = gap_x, gap_y
        self._heights = {box.id: sizes[box.id].height for box in graph.boxes}
        self._sizes = sizes
        self._layer = _layers(graph)
        self._columns: list[list[str]] = [[] for _ in range(max(self._layer.values(), default=0) + 1)]
        for box in graph.boxes:
            self._columns[self._layer[box.id]].append(box.id)
        self._chains = [self._chain(index) for index in range(len(graph.arrows))]
        self._left: dict[str, list[str]] = {name: [] for column in self._columns for name in column}
        self._right: dict[str, list[str]] = {name: [] for column in self._columns for name in column}
        for chain in self._chains:
            for start, end in pairwise(chain):
                self._right[start].append(end)
                self._left[end].append(start)

    def layout(self) -> Layout:
        for sweep in range(_SWEEPS):
            self._order(self._left if sweep % 2 == 0 else self._right, backward=sweep % 2 == 1)
        middles = self._middles()
        xs, widths = self._xs()
        spots = {
            box.id: Spot(
                xs[self._layer[box.id]], middles[box.id] - self._heights[box.id] / 2, widths[self._layer[box.id]]
            )
            for box in self._graph.boxes
        }
        ways = [self._way(chain, middles, xs, widths) for chain in self._chains]
        bottom = max((middles[name] + self._heights[name] / 2 for name in middles), default=0.0)
        return Layout(spots, ways, xs[-1] + widths[-1] if xs else 0.0, bottom)

    def _chain(self, index: int) -> list[str]:
        """The nodes that an arrow passes, from box to box; creates the bends in the layers between."""
        arrow = self._graph.arrows[index]
        chain = [arrow.start]
        for layer in range(self._layer[arrow.start] + 1, self._layer[arrow.end]):
            bend = f"bend {index} {layer}"
            self._heights[bend] = _BEND_HEIGHT
            self._columns[layer].append(bend)
            chain.append(bend)
        return [*chain, arrow.end]

    def _order(self, neighbours: Mapping[str, list[str]], *, backward: bool) -> None:
        rank = {name: index for column in self._columns for index, name in enumerate(column)}
        for column in reversed(self._columns) if backward else self._columns:
            wanted = {
                name: sum(rank[each] for each in neighbours[name]) / len(neighbours[name])
                if neighbours[name]
                else float(rank[name])
                for name in column
            }
            column.sort(key=lambda name: wanted[name])
            rank.update((name, index) for index, name in enumerate(column))

    def _middles(self) -> dict[str, float]:
        middle: dict[str, float] = {}
        for column in self._columns:
            top = 0.0
            for name in column:
                middle[name] = top + self._heights[name] / 2
                top += self._heights[name] + self._gap_y
        for sweep in range(_SWEEPS_OF_HEIGHTS):
            for column in self._columns if sweep % 2 == 0 else reversed(self._columns):
                wanted = []
                for name in column:
                    near = [(self._pull(each, name), middle[each]) for each in self._left[name]]
                    near += [(self._pull(name, each), middle[each]) for each in self._right[name]]
                    total = sum(pull for pull, _ in near)
                    wanted.append(sum(pull * at for pull, at in near) / total if near else middle[name])
                middle.update(zip(column, self._apart(column, wanted), strict=True))
        top = min((middle[name] - self._heights[name] / 2 for name in middle), default=0.0)
        return {name: value - top for name, value in middle.items()}

    def _pull(self, start: str, end: str) -> int:
        """Two boxes that are connected only to each other, such as a flow and its output, get the same height."""
        return _STRAIGHT if len(self._right[start]) == 1 and len(self._left[end]) == 1 else 1

    def _apart(self, column: Sequence[str], wanted: Sequence[float]) -> list[float]:
        """The heights nearest to the wanted ones (least squares) that keep the order and the gaps: neighbours that
        would overlap become a block at the mean of their wanted heights."""
        offsets, total = [], 0.0
        for index, name in enumerate(column):
            if index:
                total += (self._heights[column[index - 1]] + self._heights[name]) / 2 + self._gap_y
            offsets.append(total)
        blocks: list[tuple[float, int]] = []
        for want, offset in zip(wanted, offsets, strict=True):
            mean, count = want - offset, 1
            while blocks and blocks[-1][0] > mean:
                other, many = blocks.pop()
                mean, count = (mean * count + other * many) / (count + many), count + many
            blocks.append((mean, count))
        bases = [mean for mean, count in blocks for _ in range(count)]
        return [base + offset for base, offset in zip(bases, offsets, strict=True)]

    def _xs(self) -> tuple[list[float], list[float]]:
        xs, widths, x = [], [], 0.0
        for column in self._columns:
            width = max((self._sizes[name].width for name in column if name in self._sizes), default=0.0)
            xs.append(x)
            widths.append(width)
            x += width + self._gap_x
        return xs, widths

    def _way(
        self, chain: Sequence[str], middles: Mapping[str, float], xs: Sequence[float], widths: Sequence[float]
    ) -> list[tuple[float, float]]:
        first = self._layer[chain[0]]
        points = [(xs[first] + widths[first], middles[chain[0]])]
        for step, bend in enumerate(chain[1:-1], start=1):
            points += [(xs[first + step], middles[bend]), (xs[first + step] + widths[first + step], middles[bend])]
        return [*points, (xs[self._layer[chain[-1]]], middles[chain[-1]])]


def _layers(graph: Graph) -> dict[str, int]:
    """The longest path from a start. A table that is only read is placed right before its first reader."""
    layer = {box.id: 0 for box in graph.boxes}
    for _ in graph.boxes:  # no path is longer than the number of boxes
        changed = False
        for arrow in graph.arrows:
            if layer[arrow.end] <= layer[arrow.start]:
                layer[arrow.end] = layer[arrow.start] + 1
                changed = True
        if not changed:
            break
    for box in graph.boxes:
        readers = [layer[arrow.end] for arrow in graph.after(box.id)]
        if box.kind is Kind.TABLE and readers and not graph.before(box.id):
            layer[box.id] = min(readers) - 1
    return layer
