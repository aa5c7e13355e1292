"""What the README shows of the demo is what the demo does: with its seed, the figures are the same each time."""

import re
from typing import Any

import matplotlib as mpl
import pytest
from demo.chart import figure_of
from demo.classify import V1, V2, averages
from demo.plan import WINDOW_MS, Plan
from demo.proof import Outputs
from followed_pages import Followed
from small_history import SmallHistory, small_history

mpl.use("Agg")

_DAY_MS = 86_400_000
_EQUATION = re.compile(r"^sent = counted \+ duplicates \+ late \+ dead letters: (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def history() -> SmallHistory:
    return small_history(Plan())


def test_the_readme_has_the_figures_of_the_demo(history: SmallHistory, followed: Followed) -> None:
    verdict = history.verdict
    parts = (len(verdict.counted), len(verdict.duplicates), len(verdict.late), len(verdict.dead))
    (block,) = followed("README.md")
    (shown,) = _EQUATION.findall(block.text)
    assert shown == f"{sum(parts):,} = " + " + ".join(f"{part:,}" for part in parts)


def test_the_chart_has_no_empty_end_and_no_text_is_cut_off(history: SmallHistory) -> None:
    v1, v2 = (
        Outputs(
            history=[],
            averages=list(averages(history.verdict, history.devices, logic).items()),
            anomalies=[],
            dead_letters=[],
        )
        for logic in (V1, V2)
    )
    figure: Any = figure_of(history.verdict, v1, v2)
    figure.canvas.draw()
    last_ms = max(minute.start_ms for minute, _ in v1.averages)
    for axes in figure.axes:
        assert axes.get_xlim()[1] * _DAY_MS < last_ms + 3 * WINDOW_MS
        assert axes.get_tightbbox().x1 <= figure.bbox.x1, "a title is cut off"
