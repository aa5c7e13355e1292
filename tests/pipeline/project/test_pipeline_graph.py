"""Lineage: the edges of the graph, and drawings that are complete and without overlaps."""

import json
import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from project_making import HEAD, SOURCES, loaded
from test_project_model import EVERYTHING, FILES

from barnabas.pipeline.graph.layout import Size, lay_out
from barnabas.pipeline.graph.mermaid import mermaid_of
from barnabas.pipeline.graph.model import Arrow, Box, Graph, Kind, graph_of
from barnabas.pipeline.graph.svg import svg_of
from barnabas.pipeline.graph.text import text_of

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return graph_of(loaded(tmp_path, EVERYTHING, files=FILES))


def test_what_is_tied_to_what(graph: Graph) -> None:
    table = next(box.id for box in graph.boxes if box.name == "out/seen")
    assert {(arrow.start, arrow.end) for arrow in graph.arrows if not arrow.is_bad} == {
        ("topic:orders", "orders"),
        ("topic:clicks", "clicks"),
        ("topic:lines", "lines"),
        ("orders", "joined"),
        ("people", "joined"),
        ("joined", "totals"),
        ("totals", "topic:totals"),
        ("clicks", "seen"),
        ("seen", table),
        ("lines", "all"),
        ("orders", "all"),
        ("all", "console:all"),
    }


def test_only_what_can_be_wrong_leads_to_the_dead_letters(graph: Graph) -> None:
    bad = {(arrow.start, arrow.end) for arrow in graph.arrows if arrow.is_bad}
    assert bad == {("orders", "topic:shop.dead-letters"), ("clicks", "topic:shop.dead-letters")}


def test_a_topic_between_two_flows_is_one_box(tmp_path: Path) -> None:
    yaml = (
        f"{HEAD}{SOURCES}  again: {{topic: middle, format: text}}\nflows:\n"
        "  a: {sql: SELECT * FROM orders, output: {topic: middle}}\n"
        "  b: {sql: SELECT * FROM again, output: {console: true}}\n"
    )
    graph = graph_of(loaded(tmp_path, yaml))
    assert [box.kind for box in graph.boxes if box.name == "middle"] == [Kind.TOPIC]
    assert text_of(graph) == (
        "topic orders\n"
        "└─ source orders\n"
        "   │  · json: id, at, amount\n"
        "   │  ╌▶ dead letters shop.dead-letters\n"
        "   └─ flow a\n"
        "      │  · SQL in pipeline.yaml\n"
        "      └─ topic middle\n"
        "         │  · json, append\n"
        "         └─ source again\n"
        "            │  · text: value\n"
        "            └─ flow b\n"
        "                  · SQL in pipeline.yaml\n"
        "                  ─▶ console (append)\n"
    )


def test_the_text_tells_everything_and_what_joins_once(graph: Graph) -> None:
    text = text_of(graph)
    for box in graph.boxes:
        if box.kind is not Kind.TABLE or graph.after(box.id) or graph.before(box.id):
            assert box.name in text
    assert "view joined · reads source orders, table people" in text
    assert "expects known: id IS NOT NULL, otherwise dead-letter" in text
    assert text.count("flow all · reads source lines, source orders") == 1
    assert text.count("flow all (above)") == 1
    assert "table far" in text, "a table that nothing reads is told, too"


def test_text_for_terminals_that_know_only_ascii(graph: Graph) -> None:
    assert text_of(graph, fancy=False).isascii()


def test_json_is_the_whole_graph(graph: Graph) -> None:
    data = json.loads(json.dumps(graph.as_object()))
    assert len(data["nodes"]) == len(graph.boxes)
    orders = next(node for node in data["nodes"] if node["id"] == "orders")
    assert orders["rules"][1] == {"name": "known", "rule": "id IS NOT NULL", "otherwise": "dead-letter"}
    assert {"from": "orders", "to": "topic:shop.dead-letters", "dead_letters": True} in data["edges"]


def test_mermaid_has_every_box_and_arrow(graph: Graph) -> None:
    lines = mermaid_of(graph).splitlines()
    assert lines[0] == "flowchart LR"
    assert sum("-->" in line or "-.->" in line for line in lines) == len(graph.arrows)
    assert any("known: id IS NOT NULL, otherwise dead-letter" in line for line in lines)
    assert len(lines) == 1 + len(graph.boxes) + len(graph.arrows)


def test_the_picture_has_every_box_and_arrow(graph: Graph) -> None:
    root = ElementTree.fromstring(svg_of(graph))
    names = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "name"]
    assert sorted(names) == sorted(box.name for box in graph.boxes)
    lines = [path for path in root.iter(f"{SVG}path") if path.get("class") in ("line", "bad-line")]
    assert len(lines) == len(graph.arrows)
    assert "prefers-color-scheme:dark" in svg_of(graph)


def test_text_fits_into_its_box_and_boxes_into_the_picture(graph: Graph) -> None:
    root = ElementTree.fromstring(svg_of(graph))
    width, height = (float(root.get(name, "")) for name in ("width", "height"))
    for group in root.iter(f"{SVG}g"):
        box = group.find(f"{SVG}rect")
        if box is None:
            continue
        x, y = map(float, re.findall(r"[\d.]+", group.get("transform", "")))
        w, h = float(box.get("width", "")), float(box.get("height", ""))
        assert x + w < width
        assert y + h < height
        for text in group.iter(f"{SVG}text"):
            size = 14 if text.get("class") == "name" else 11.5
            assert float(text.get("x", "")) + len(text.text or "") * size * 0.6 <= w
            assert float(text.get("y", "")) < h


def test_a_name_with_signs_of_xml_cannot_break_the_picture() -> None:
    box = Box("a", Kind.FLOW, '<b>&"', ("x < y & z",))
    assert ElementTree.fromstring(svg_of(Graph('<&">', (box,), ()))).tag == f"{SVG}svg"


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    count = draw(st.integers(0, 12))
    kinds = st.sampled_from(list(Kind))
    details = st.integers(0, 3).map(lambda many: ("x",) * many)
    boxes = tuple(Box(str(index), draw(kinds), f"box {index}", draw(details)) for index in range(count))
    pairs = list(combinations(range(count), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return Graph("g", boxes, tuple(Arrow(str(start), str(end)) for start, end in chosen))


@given(graphs())
def test_no_box_lies_upon_another_and_every_arrow_goes_right(graph: Graph) -> None:
    sizes = {box.id: Size(100 + 10 * len(box.details), 40 + 17 * len(box.details)) for box in graph.boxes}
    layout = lay_out(graph, sizes, gap_x=50, gap_y=20)
    places = [(layout.spots[box.id], sizes[box.id].height) for box in graph.boxes]
    for (one, one_height), (other, other_height) in combinations(places, 2):
        apart_x = one.x + one.width + 49 < other.x or other.x + other.width + 49 < one.x
        apart_y = one.y + one_height + 19 < other.y or other.y + other_height + 19 < one.y
        assert apart_x or apart_y
    for spot, height in places:
        assert spot.x >= 0
        assert spot.y >= -0.001
        assert spot.x + spot.width <= layout.width + 0.001
        assert spot.y + height <= layout.height + 0.001
    for way in layout.ways:
        xs = [x for x, _ in way]
        assert xs == sorted(xs)
    assert ElementTree.fromstring(svg_of(graph)).tag == f"{SVG}svg"
    assert all(box.name in text_of(graph) for box in graph.boxes if box.kind not in (Kind.TABLE, Kind.CONSOLE))
