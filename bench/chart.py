"""The chart of docs/performance.md: how many times better than the other server, on a logarithmic axis."""

from pathlib import Path
from typing import Any

from bench.results import Better, Measure, Results

_BETTER, _WORSE, _INK, _FAINT = "#2a7f9e", "#c8553d", "#222222", "#dddddd"
_SHOWN_FROM = 0.5
_ROOM_FOR_A_LABEL = 0.8
"""A bar down to here is long enough for its label."""


def draw(results: Results, path: Path, title: str = "Barnabas: times better than Apache Kafka 4.3.1") -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure = figure_of(results, title)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def figure_of(results: Results, title: str) -> Any:
    from matplotlib import pyplot

    rows = [(measure, gain) for measure in results.values if (gain := advantage(results, measure)) is not None]
    rows = [row for row in rows if _is_drawn(row[0])]
    rows.reverse()  # bars are drawn from below
    pyplot.rcParams["font.size"] = 9
    figure, axes = pyplot.subplots(figsize=(9, 0.27 * len(rows) + 1.4), layout="constrained")
    gains = [gain for _, gain in rows]
    first, last = _first_shown(gains), max([*gains, 1.2]) * 1.4
    places = range(len(rows))
    axes.barh(places, [gain - 1 for gain in gains], left=1, color=[_BETTER if gain >= 1 else _WORSE for gain in gains])
    axes.set_xscale("log")
    ticks = [tick for tick in (0.5, 1, 2, 5, 10, 20, 50, 100) if first <= tick <= last]
    axes.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(first, last)
    axes.set_yticks(places, [measure.name for measure, _ in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.axvline(1, color=_INK, linewidth=1)
    axes.grid(axis="x", color=_FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    for place, (measure, gain) in zip(places, rows, strict=True):
        target = _target(measure)
        if target is not None:
            axes.plot([target, target], [place - 0.42, place + 0.42], color=_INK, linewidth=1.6)
        _label(axes, place, gain, target)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.suptitle(f"{title} (marks: targets)", x=0.01, ha="left", fontsize=10)
    return figure


def _is_drawn(measure: Measure) -> bool:
    """Not latencies of loop-lag, which are no ratios, nor the CPU of each request, which would double the chart."""
    is_cost_of_request = measure.benchmark == "requests" and measure.better is Better.LESS
    return measure.ceiling is None and measure.benchmark != "loop-lag" and not is_cost_of_request


def _first_shown(gains: list[float]) -> float:
    """Where the axis begins. A single bar far below 1 is cut off there: it would leave half of the chart empty."""
    return 0.95 if min(gains) >= 1 else _SHOWN_FROM


def _label(axes: Any, place: int, gain: float, target: float | None) -> None:
    """Behind the bar and the mark of its target; for one that is worse, in the bar."""
    is_worse = gain < 1
    axes.annotate(
        f"{gain:.0f}x" if gain >= 10 else f"{gain:.1f}x" if gain >= 0.1 else f"{gain:.2f}x",
        (1 if is_worse else max(gain, target or 0), place),
        xytext=(-4 if is_worse else 4, 0),
        textcoords="offset points",
        va="center",
        ha="right" if is_worse else "left",
        color="white" if is_worse and gain < _ROOM_FOR_A_LABEL else _INK,
        fontsize=8,
    )


def advantage(results: Results, measure: Measure) -> float | None:
    """How many times better: the ratio, inverted where less is better."""
    ratio = results.ratio(measure)
    if not ratio:
        return None
    return ratio if measure.better is Better.MORE else 1 / ratio


def _target(measure: Measure) -> float | None:
    if measure.target is None:
        return None
    return measure.target if measure.better is Better.MORE else 1 / measure.target
