"""Shows the demo: a live screen on a terminal, lines elsewhere."""

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from demo.plan import ANOMALIES, AVERAGES, DEAD_LETTERS
from demo.scene import Scene
from demo.telemetry import iso

_EVENTS_SHOWN = 8
_MINUTES_SHOWN = 36
_BAR_WIDTH = 40
_LINE_EVERY_S = 5.0
_HEIGHTS = "▁▂▃▄▅▆▇█"


class View(Protocol):
    def refresh(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def view_of(scene: Scene) -> View:
    return LiveView(scene) if sys.stdout.isatty() else LineView(scene)


class LineView:
    """An event when it happens, the numbers every few seconds."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._next_line_s = scene.elapsed_s() + _LINE_EVERY_S

    def refresh(self) -> None:
        scene = self._scene
        for line in scene.news():
            print(line, flush=True)
        if scene.elapsed_s() >= self._next_line_s and scene.sender is not None:
            self._next_line_s = scene.elapsed_s() + _LINE_EVERY_S
            sent = f"{_sent(scene)}; " if scene.sender.is_alive() else ""
            print(f"{scene.elapsed_s():5.1f}s  {sent}{_flows_in_words(scene)}", flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.refresh()


class LiveView:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._console = Console(highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)

    def refresh(self) -> None:
        self._live.update(_screen(self._scene), refresh=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)
        for line in self._scene.news():
            self._console.print(line, style="dim", markup=False)


def _screen(scene: Scene) -> RenderableType:
    headline = Text.assemble(("Barnabas ", "bold"), f"{scene.elapsed_s():5.1f}s   ", (scene.phase, "bold green"))
    return Group(headline, Text(), _sending(scene), Text(), _flows(scene), Text(), _groups(scene), Text(), _log(scene))


def _sending(scene: Scene) -> Text:
    if scene.sender is None:
        return Text("starting the broker")
    planned = round(scene.plan.rate * scene.plan.seconds)
    done = min(1.0, scene.sender.count("acked") / planned)
    bar = "█" * round(done * _BAR_WIDTH)
    return Text.assemble((bar.ljust(_BAR_WIDTH, "░"), "cyan"), "  ", _sent(scene))


def _sent(scene: Scene) -> str:
    sender = scene.sender
    if sender is None:
        return "nothing sent yet"
    clock = iso(sender.count("now_ms"))[11:19] if sender.count("now_ms") else "-"
    rate = f", {sender.rate():,.0f} per second, simulated time {clock}" if sender.is_alive() else ", all of them"
    return f"{sender.count('acked'):,} events of {scene.plan.devices:,} devices sent{rate}"


def _flows_in_words(scene: Scene) -> str:
    status = scene.status()
    if status is None:
        return f"starting {scene.version}"
    flows = [
        f"{flow.name} {'lag ' + format(flow.lag, ',') if flow.lag is not None else flow.state}" for flow in status.flows
    ]
    return f"{scene.version}: {', '.join(flows) or 'starting'}"


def _flows(scene: Scene) -> RenderableType:
    status = scene.status()
    if status is None or not status.flows:
        return Text(f"starting Spark for {scene.version} of the pipeline")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("FLOW", min_width=22)
    table.add_column("STATE", min_width=9)
    for column in ("BATCH", "IN/S", "LAG", "WATERMARK", "STATE ROWS"):
        table.add_column(column, justify="right", min_width=9)
    for flow in status.flows:
        state = Text(flow.state, style="red" if flow.last_error else "")
        table.add_row(
            f"{scene.version} {flow.name}",
            state,
            _number(flow.batch_id),
            _number(flow.input_rows_per_s),
            _number(flow.lag),
            "-" if flow.watermark is None else flow.watermark[11:19],
            _number(flow.state_rows),
        )
    return table


def _groups(scene: Scene) -> RenderableType:
    tail = scene.tail
    if tail is None or not tail.averages:
        return Text("no window has ended yet", style="dim")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("GROUP", min_width=9)
    table.add_column("MINUTES", min_width=_MINUTES_SHOWN)
    table.add_column("LAST AVERAGE", justify="right")
    for group, points in sorted(tail.groups().items()):
        values = [value for _, value in points]
        table.add_row(group, Text(sparkline(values[-_MINUTES_SHOWN:]), "green"), f"{values[-1]:.2f} °C")
    counts = tail.counts
    summary = (
        f"{counts[AVERAGES]:,} averages, {counts[ANOMALIES]:,} anomalies and {counts[DEAD_LETTERS]:,} dead letters "
        "so far"
    )
    return Group(table, Text(summary, style="dim"))


def sparkline(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    step = (high - low) / (len(_HEIGHTS) - 1) or 1.0
    return "".join(_HEIGHTS[round((value - low) / step)] for value in values)


def _log(scene: Scene) -> Group:
    return Group(*(Text(f"{when:5.1f}s  {event}") for when, event in scene.events[-_EVENTS_SHOWN:]))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
