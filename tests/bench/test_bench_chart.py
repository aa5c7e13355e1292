"""The chart of a benchmark can be read: labels stand beside bars, marks and names, and no half of it is empty."""

from itertools import combinations
from typing import Any

import matplotlib as mpl
import pytest
from bench.chart import figure_of
from bench.results import Better, Measure, Results

mpl.use("Agg")


def figure(*rows: tuple[str, float, float | None]) -> Any:
    """Drawn from names, ratios and targets."""
    results = Results()
    for name, ratio, target in rows:
        measure = Measure("b", name, "k/s", Better.MORE, target)
        results.add(measure, "barnabas", ratio)
        results.add(measure, "kafka", 1.0)
    made = figure_of(results, "times better than another")
    made.canvas.draw()
    return made


WORSE = (("a long name of what was measured", 0.04, None), ("b", 1.17, 1.2), ("c", 22.0, 15.0), ("d", 0.93, None))
BETTER = (("a", 1.0, 1.2), ("b", 1.17, 1.2), ("c", 1.19, 1.2), ("d", 33.0, 1.0))


@pytest.fixture(scope="module", params=[WORSE, BETTER], ids=["worse", "better"])
def made(request: pytest.FixtureRequest) -> Any:
    return figure(*request.param)


def test_labels_stand_alone(made: Any) -> None:
    (axes,) = made.axes
    texts = [*axes.texts, *axes.get_yticklabels(), *axes.get_xticklabels(), *made.texts]
    boxes = {text.get_text(): text.get_window_extent() for text in texts if text.get_text()}
    for (one, first), (other, second) in combinations(boxes.items(), 2):
        assert not first.overlaps(second), (one, other)
    targets = [
        line.get_window_extent()
        for line in axes.lines
        if len(set(line.get_xdata())) == 1 and len(set(line.get_ydata())) == 2
    ]
    for label in axes.texts:
        for target in targets[1:]:
            assert not label.get_window_extent().overlaps(target), label.get_text()
    whole = made.bbox
    assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 for box in boxes.values())


def test_no_half_is_empty(made: Any) -> None:
    (axes,) = made.axes
    left, right = axes.get_window_extent().x0, axes.get_window_extent().x1
    even = axes.transData.transform((1.0, 0.0))[0]
    assert (even - left) / (right - left) < 0.25
