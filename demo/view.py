"""The audience's view: a live screen on a terminal, lines otherwise."""

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from demo.proof import Proof
from demo.scene import Scene

_EVENTS_SHOWN = 10
_BAR_WIDTH = 20
_LINE_EVERY_S = 2.0


class View(Protocol):
    def refresh(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def view_of(scene: Scene) -> View:
    return LiveView(scene) if sys.stdout.isatty() else LineView(scene)


class LineView:
    """An event when it happens, the numbers every other second."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._events_told = 0
        self._next_line_s = _LINE_EVERY_S

    def refresh(self) -> None:
        scene = self._scene
        for when, event in scene.events[self._events_told :]:
            print(f"{when:5.1f}s  * {event}", flush=True)
            self._events_told += 1
        if scene.elapsed_s() >= self._next_line_s and scene.senders:
            self._next_line_s = scene.elapsed_s() + _LINE_EVERY_S
            members = ", ".join(f"{member.name}:{_listed(member.assigned())}" for member in scene.living_members())
            print(
                f"{scene.elapsed_s():5.1f}s  acknowledged {scene.acked():,}  processed {scene.processed():,}  "
                f"lag {scene.lag():,}  broker {scene.broker}  {members}",
                flush=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.refresh()


class LiveView:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._live = Live(console=Console(), auto_refresh=False, transient=True)

    def refresh(self) -> None:
        self._live.update(_screen(self._scene), refresh=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)


def print_ending(scene: Scene, proof: Proof, notes: Mapping[str, int]) -> None:
    """The final table and the proof. `notes` counts what each actor wrote down, also one that died before it told."""
    console = Console(highlight=False, soft_wrap=True)
    table = Table(title="Who did what", box=None, pad_edge=False, header_style="bold", title_justify="left")
    for column, justify in (("ACTOR", "left"), ("PID", "right"), ("RECORDS", "right"), ("FATE", "left")):
        table.add_column(column, justify="right" if justify == "right" else "left")
    for sender in scene.senders:
        table.add_row(sender.name, str(sender.pid), f"{notes[f'acked-{sender.name}']:,}", "acknowledged")
    for member in scene.members:
        fate = "killed" if member.was_killed else "finished"
        table.add_row(member.name, str(member.pid), f"{notes[f'processed-{member.name}']:,}", f"processed, {fate}")
    console.print(table)
    if console.is_terminal:  # elsewhere they have been told already
        for when, event in scene.events:
            console.print(f"{when:5.1f}s  {event}", style="dim", markup=False)
    console.print(
        f"redelivered after the kill and recognised by partition and offset: {proof.redelivered:,}; "
        f"out of order: {proof.out_of_order:,}; misplaced: {proof.misplaced:,}",
        markup=False,
    )
    console.print(proof.line(), style="bold green" if proof.holds() else "bold red", markup=False)


def _screen(scene: Scene) -> RenderableType:
    return Group(_headline(scene), Text(), _partitions(scene), Text(), _actors(scene), Text(), _events(scene))


def _headline(scene: Scene) -> Text:
    style = "bold green" if scene.broker == "up" else "bold red"
    return Text.assemble(
        ("Barnabas ", "bold"),
        f"{scene.elapsed_s():4.1f}s   broker ",
        (scene.broker, style),
        f"   acknowledged {scene.acked():,}   processed {scene.processed():,}   lag {scene.lag():,}",
    )


def _partitions(scene: Scene) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("PARTITION", "END", "PROCESSED", "LAG"):
        table.add_column(column, justify="right", min_width=9)
    table.add_column("", min_width=_BAR_WIDTH)
    table.add_column("READ BY")
    views = scene.partition_views()
    most = max(1000, *(view.lag for view in views))
    for view in views:
        bar = "█" * round(view.lag / most * _BAR_WIDTH)
        owner = Text(view.owner, style="red" if view.owner == "nobody" else "")
        table.add_row(
            str(view.partition), f"{view.end:,}", f"{view.done:,}", f"{view.lag:,}", Text(bar, "yellow"), owner
        )
    return table


def _actors(scene: Scene) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("ACTOR", min_width=10)
    for column in ("PID", "RECORDS", "PER SECOND"):
        table.add_column(column, justify="right", min_width=9)
    table.add_column("")
    for sender in scene.senders:
        waiting = sender.count("sent") - sender.count("acked")
        rate = f"{sender.rate('acked'):,.0f}"
        table.add_row(sender.name, str(sender.pid), f"{sender.count('acked'):,}", rate, f"{waiting:,} in flight")
    for member in scene.members:
        what = Text("killed", "bold red") if member.was_killed else Text(f"partitions {_listed(member.assigned())}")
        rate = f"{member.rate('processed'):,.0f}"
        table.add_row(member.name, str(member.pid), f"{member.count('processed'):,}", rate, what)
    return table


def _events(scene: Scene) -> Group:
    return Group(*(Text(f"{when:5.1f}s  {event}") for when, event in scene.events[-_EVENTS_SHOWN:]))


def _listed(partitions: list[int]) -> str:
    return ",".join(map(str, partitions)) or "-"
