"""The chart: what came in and what became of it, the averages, and what the changed logic makes of them."""

import colorsys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from demo.classify import Average, Minute, Verdict
from demo.plan import WINDOW_MS
from demo.proof import Outputs

_COLOURS = {"counted": "#2a7f9e", "duplicates": "#8fb8c9", "late": "#e0a13b", "dead letters": "#c8553d"}
_FAINT = "#dddddd"


def draw(verdict: Verdict, v1: Outputs, v2: Outputs, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import dates, pyplot

    pyplot.rcParams["font.size"] = 9
    figure, (came, averages, difference) = pyplot.subplots(
        3, 1, figsize=(10, 9.5), layout="constrained", sharex=True, height_ratios=(2, 4, 3)
    )
    _draw_what_came(came, verdict)
    _draw_averages(averages, v1)
    _draw_difference(difference, v1, v2)
    formatter: Any = dates.DateFormatter
    difference.xaxis.set_major_formatter(formatter("%H:%M", tz=UTC))
    difference.set_xlabel("simulated time (UTC)")
    for axes in (came, averages, difference):
        axes.grid(color=_FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _draw_what_came(axes: Any, verdict: Verdict) -> None:
    """What is wrong, in each minute; what is right would hide it."""
    by_kind = {kind: Counter(_minute(ms) for ms in times) for kind, times in verdict.times_ms.items()}
    minutes = sorted({minute for counts in by_kind.values() for minute in counts})
    below = [0] * len(minutes)
    for kind in ("duplicates", "late", "dead letters"):
        heights = [by_kind.get(kind, Counter())[minute] for minute in minutes]
        axes.bar(minutes, heights, width=50 / 86_400, bottom=below, color=_COLOURS[kind], label=kind)
        below = [one + other for one, other in zip(below, heights, strict=True)]
    counted = len(verdict.counted)
    axes.set_title(f"Events per minute that are not counted (counted: {counted:,} in all)", loc="left")
    axes.set_ylim(0, 1.35 * max([*below, 1]))
    axes.legend(frameon=False, ncols=3, loc="upper right")


def _draw_averages(axes: Any, outputs: Outputs) -> None:
    lines = _lines(dict(outputs.averages))
    axes.set_prop_cycle(color=[_colour(number, len(lines)) for number in range(len(lines))])
    for group, points in lines.items():
        axes.plot([when for when, _ in points], [value for _, value in points], linewidth=1.3, label=group)
    axes.set_title("v1: average of each group and minute, °C", loc="left")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)


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
    axes.set_title(
        f"v2 leaves anomalies out: v2 minus v1, °C ({differing:,} of {len(changed):,} averages differ)", loc="left"
    )


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
