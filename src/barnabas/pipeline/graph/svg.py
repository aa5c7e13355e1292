"""Lineage as an SVG picture, light or dark like the reader's system.

Text widths are estimated on the wide side, because the reader's font is unknown; long lines are cut, and shown in full
in a tooltip.
"""

from html import escape

from barnabas.pipeline.graph.layout import Layout, Size, lay_out
from barnabas.pipeline.graph.model import Box, Graph, Kind

_TITLE_PX, _TEXT_PX, _KIND_PX = 14, 11.5, 9.5
_LETTER = 0.6
"""A letter's width in ems, of the wider fonts that a system may have; a bold one has a bit more."""
_PADDING_X, _PADDING_Y = 16, 12
_LINE_PX = 17
_LETTERS_MAX = 40
_WIDTH_MIN = 120
_GAP_X, _GAP_Y = 64, 22
_MARGIN, _HEAD_PX = 28, 62

_COLOURS = {
    Kind.TOPIC: ("#0969da", "#58a6ff"),
    Kind.SOURCE: ("#1a7f37", "#3fb950"),
    Kind.TABLE: ("#9a6700", "#d29922"),
    Kind.FLOW: ("#8250df", "#bc8cff"),
    Kind.VIEW: ("#8250df", "#bc8cff"),
    Kind.CONSOLE: ("#57606a", "#8b949e"),
    Kind.DEAD_LETTERS: ("#cf222e", "#ff7b72"),
}
"""By kind, on a light ground and on a dark one."""


def svg_of(graph: Graph) -> str:
    lines = {box.id: _lines(box) for box in graph.boxes}
    layout = lay_out(graph, {box.id: _size(box, lines[box.id]) for box in graph.boxes}, gap_x=_GAP_X, gap_y=_GAP_Y)
    counts = _counts(graph)
    head_width = max(len(graph.project) * 20 * 0.68, len(counts) * _TEXT_PX * _LETTER)
    width = round(max(layout.width, head_width) + 2 * _MARGIN)
    height = round(layout.height + _HEAD_PX + 2 * _MARGIN)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img">',
        f"<title>{escape(f'Lineage of the pipeline {graph.project}')}</title>",
        f"<style>{_style()}</style>",
        "<defs>" + _arrowhead("head", "line") + _arrowhead("bad-head", "bad-line") + "</defs>",
        f'<rect class="ground" width="{width}" height="{height}" rx="12"/>',
        f'<text class="project" x="{_MARGIN}" y="{_MARGIN + 18}">{escape(graph.project)}</text>',
        f'<text class="detail" x="{_MARGIN}" y="{_MARGIN + 38}">{escape(counts)}</text>',
        f'<g transform="translate({_MARGIN} {_MARGIN + _HEAD_PX})">',
        *_arrows(graph, layout),
        *(_drawn(box, lines[box.id], layout) for box in graph.boxes),
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _lines(box: Box) -> list[str]:
    rules = [f"✓ {rule.name}, otherwise {rule.otherwise}" for rule in box.rules]
    return [*box.details, *rules]


def _size(box: Box, lines: list[str]) -> Size:
    title = min(len(box.name), _LETTERS_MAX) * _TITLE_PX * (_LETTER + 0.06)
    text = max((min(len(line), _LETTERS_MAX) for line in lines), default=0) * _TEXT_PX * _LETTER
    width = max(title, text, _WIDTH_MIN - 2 * _PADDING_X) + 2 * _PADDING_X
    return Size(round(width), 2 * _PADDING_Y + 30 + (_LINE_PX * len(lines) + 3 if lines else 0))


def _drawn(box: Box, lines: list[str], layout: Layout) -> str:
    spot, size = layout.spots[box.id], _size(box, lines)
    colour = f"k-{box.kind.replace(' ', '-')}"
    dashed = " view" if box.kind is Kind.VIEW else ""
    parts = [
        f'<g class="{colour}" transform="translate({_n(spot.x)} {_n(spot.y)})">',
        f"<title>{escape(_whole(box))}</title>",
        f'<rect class="box{dashed}" width="{_n(spot.width)}" height="{_n(size.height)}" rx="8"/>',
        f'<path class="bar" d="M8 0.5H5.5a5 5 0 0 0 -5 5V{_n(size.height - 5.5)}a5 5 0 0 0 5 5H8" />',
        f'<text class="kind" x="{_PADDING_X}" y="{_PADDING_Y + 8}">{escape(box.kind.upper())}</text>',
        f'<text class="name" x="{_PADDING_X}" y="{_PADDING_Y + 26}">{escape(_cut(box.name))}</text>',
    ]
    for index, line in enumerate(lines):
        y = _PADDING_Y + 29 + _LINE_PX * (index + 1)
        parts.append(f'<text class="detail" x="{_PADDING_X}" y="{y}">{escape(_cut(line))}</text>')
    return "".join([*parts, "</g>"])


def _arrows(graph: Graph, layout: Layout) -> list[str]:
    drawn = []
    for arrow, way in zip(graph.arrows, layout.ways, strict=True):
        points = [(x, y) for x, y in way]
        points[-1] = (points[-1][0] - 2, points[-1][1])
        path = f"M{_n(points[0][0])} {_n(points[0][1])}"
        for index in range(1, len(points)):
            (x0, y0), (x1, y1) = points[index - 1], points[index]
            if abs(y1 - y0) < 0.5:
                path += f"L{_n(x1)} {_n(y1)}"
            else:
                bend = (x1 - x0) * 0.5
                path += f"C{_n(x0 + bend)} {_n(y0)} {_n(x1 - bend)} {_n(y1)} {_n(x1)} {_n(y1)}"
        kind, head = ("bad-line", "bad-head") if arrow.is_bad else ("line", "head")
        drawn.append(f'<path class="{kind}" d="{path}" marker-end="url(#{head})"/>')
    return drawn


def _arrowhead(name: str, of: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path class="{of}-head" d="M0 0.5L7.5 4L0 7.5z"/></marker>'
    )


def _style() -> str:
    def colours(which: int) -> str:
        return "".join(
            f".k-{kind.replace(' ', '-')} .bar{{stroke:{pair[which]}}}"
            f".k-{kind.replace(' ', '-')} .kind{{fill:{pair[which]}}}"
            for kind, pair in _COLOURS.items()
        ) + (
            f".bad-line{{stroke:{_COLOURS[Kind.DEAD_LETTERS][which]}}}"
            f".bad-line-head{{fill:{_COLOURS[Kind.DEAD_LETTERS][which]}}}"
        )

    light = (
        ".ground{fill:#f6f8fa}.box{fill:#ffffff;stroke:#d0d7de}.project,.name{fill:#1f2328}.detail{fill:#59636e}"
        ".line{stroke:#8c959f}.line-head{fill:#8c959f}"
    )
    dark = (
        ".ground{fill:#0d1117}.box{fill:#161b22;stroke:#30363d}.project,.name{fill:#e6edf3}.detail{fill:#9198a1}"
        ".line{stroke:#6e7681}.line-head{fill:#6e7681}"
    )
    return (
        "text{font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif}"
        f".project{{font-size:20px;font-weight:600}}.name{{font-size:{_TITLE_PX}px;font-weight:600}}"
        f".detail{{font-size:{_TEXT_PX}px}}.kind{{font-size:{_KIND_PX}px;font-weight:600;letter-spacing:.08em}}"
        ".box{stroke-width:1}.view{stroke-dasharray:4 3}.bar{fill:none;stroke-width:3;stroke-linecap:round}"
        ".line,.bad-line{fill:none;stroke-width:1.5}.bad-line{stroke-dasharray:5 4}"
        f"{light}{colours(0)}@media (prefers-color-scheme:dark){{{dark}{colours(1)}}}"
    )


def _counts(graph: Graph) -> str:
    def count(noun: str, *kinds: Kind) -> str:
        number = sum(box.kind in kinds for box in graph.boxes)
        return f"{number} {noun}{'' if number == 1 else 's'}"

    topics = count("topic", Kind.TOPIC, Kind.DEAD_LETTERS)
    flows = count("flow", Kind.FLOW, Kind.VIEW)
    return " · ".join([topics, count("source", Kind.SOURCE), flows, count("table", Kind.TABLE)])


def _whole(box: Box) -> str:
    rules = [f"{rule.name}: {rule.rule}, otherwise {rule.otherwise}" for rule in box.rules]
    return "\n".join([f"{box.kind} {box.name}", *box.details, *rules])


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS_MAX else f"{text[: _LETTERS_MAX - 1]}…"


def _n(number: float) -> str:
    """Rounded: a drawing needs no more than a tenth of a pixel."""
    return f"{number:.1f}".removesuffix(".0")
