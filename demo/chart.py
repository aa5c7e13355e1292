"""The chart of the demo: the averages, the events that were left out, and the effect of the changed logic."""

import colorsys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from demo.classify import Average, Minute, Verdict
from demo.plan import WINDOW_MS
from demo.proof import Outputs

_COLOURS = {"duplicates": "#8fb8c9", "late": "#e0a13b", "dead letters": "#c8553d"}
_FAINT = "#dddddd"


def draw(verdict: Verdict, v1: Outputs, v2: Outputs, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure = figure_of(verdict, v1, v2)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def figure_of(verdict: Verdict, v1: Outputs, v2: Outputs) -> Any:
    """The averages on the left; on the right what was left out of them, and what the new logic changes."""
    from matplotlib import dates, pyplot

    pyplot.rcParams["font.size"] = 9
    figure = pyplot.figure(figsize=(12, 5.2), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(6, 5))
    averages = figure.add_subplot(grid[:, 0])
    left_out = figure.add_subplot(grid[0, 1], sharex=averages)
    difference = figure.add_subplot(grid[1, 1], sharex=averages)
    _draw_averages(averages, v1)
    _draw_left_out(left_out, verdict, v1)
    _draw_difference(difference, v1, v2)
    figure.legend(
        *averages.get_legend_handles_labels(), frameon=False, fontsize=8, ncols=12, loc="outside lower center"
    )
    left_out.tick_params(labelbottom=False)
    formatter: Any = dates.DateFormatter
    for axes in (averages, difference):
        axes.xaxis.set_major_formatter(formatter("%H:%M", tz=UTC))
        axes.set_xlabel("simulated time (UTC)")
    for axes in (averages, left_out, difference):
        axes.grid(color=_FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.margins(x=0.02)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return figure


def _draw_averages(axes: Any, outputs: Outputs) -> None:
    lines = _lines(dict(outputs.averages))
    axes.set_prop_cycle(color=[_colour(number, len(lines)) for number in range(len(lines))])
    for group, points in lines.items():
        axes.plot([when for when, _ in points], [value for _, value in points], linewidth=1.3, label=group)
    axes.set_title("Average temperature of each hall and minute, °C", loc="left")


def _draw_left_out(axes: Any, verdict: Verdict, outputs: Outputs) -> None:
    """In each minute that has averages: events that were not counted."""
    by_kind = {kind: Counter(_minute(ms) for ms in times) for kind, times in verdict.times_ms.items()}
    minutes = sorted({_minute(minute.start_ms) for minute, _ in outputs.averages})
    below = [0] * len(minutes)
    for kind in ("duplicates", "late", "dead letters"):
        heights = [by_kind.get(kind, Counter())[minute] for minute in minutes]
        axes.bar(minutes, heights, width=50 / 86_400, bottom=below, color=_COLOURS[kind], label=kind)
        below = [one + other for one, other in zip(below, heights, strict=True)]
    counted, records = len(verdict.counted), verdict.records
    axes.set_title(f"Not counted: {records - counted:,} of {records:,} events, per minute", loc="left")
    axes.set_ylim(0, 1.3 * max([*below, 1]))
    axes.legend(frameon=False, ncols=3, loc="upper right")


def _draw_difference(axes: Any, v1: Outputs, v2: Outputs) -> None:
    old, new = dict(v1.averages), dict(v2.averages)
    changed = {
        minute: Average(new[minute].readings, after - before)
        for minute, average in old.items()
        if minute in new and (before := average.average) is not None and (after := new[minute].average) is not None
    }
    lines = _lines({minute: average for minute, average in changed.items() if average.average})
    axes.set_prop_cycle(color=[_colour(number, len(lines)) for number in range(len(lines))])
    for points in lines.values():
        axes.plot([when for when, _ in points], [value for _, value in points], ".", markersize=5)
    differing = sum(1 for average in changed.values() if average.average)
    axes.axhline(0, color="#222222", linewidth=0.8)
    axes.set_title(f"Replayed without anomalies: {differing:,} of {len(changed):,} averages change, °C", loc="left")


def _colour(number: int, of: int) -> tuple[float, float, float]:
    return colorsys.hls_to_rgb(number / of, 0.42, 0.6)


def _lines(averages: dict[Minute, Average]) -> dict[str, list[tuple[datetime, float]]]:
    found: dict[str, list[tuple[datetime, float]]] = {}
    for minute, average in sorted(averages.items()):
        if average.average is not None:
            found.setdefault(minute.group, []).append((_minute(minute.start_ms), average.average))
    return found


def _minute(ms: int) -> datetime:
    return datetime.fromtimestamp(ms // WINDOW_MS * WINDOW_MS / 1000, UTC)
