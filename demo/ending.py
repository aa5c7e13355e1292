"""Prints the results: the groups, the comparison, the proof, and the effect of the changed logic."""

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from demo.judge import Judge, Result
from demo.proof import Outputs, Proof


def print_ending(proof: Proof, judge: Judge, outputs: Outputs) -> None:
    console = _console()
    console.print()
    console.print(_groups(judge, outputs))
    console.print()
    console.print(_checks(proof))
    console.print()
    _print_proof(console, proof)


def print_changes(lines: list[str]) -> None:
    console = _console()
    console.print("\nNow the logic changes, and the same history is replayed:", style="bold")
    for line in lines:
        style = "red" if ": -" in line else "green"
        console.print(f"  {line}", style=style, markup=False)
    console.print()


def print_replay(result: Result, comparison: str, switched: str, chart: Path, log: Path) -> None:
    console = _console()
    console.print("\nHow v2 differs from v1 (barnabas pipeline compare v1 v2 --flow averages):", style="bold")
    console.print(comparison.rstrip(), markup=False)
    console.print(switched.rstrip(), markup=False)
    console.print()
    for version, proof in result.proofs.items():
        console.print(f"{version}: ", end="")
        _print_proof(console, proof)
    console.print(f"The chart: {chart}. The project: {chart.parent / 'project'}.", markup=False)
    console.print(f"To look around in the log: barnabas serve --data-dir {log}", markup=False)


def _print_proof(console: Console, proof: Proof) -> None:
    console.print(proof.line(), style="bold green" if proof.holds() else "bold red", markup=False)


def _groups(judge: Judge, outputs: Outputs) -> Table:
    devices = judge.devices()
    group_of = {id_: devices[reading.device].group for id_, reading in judge.verdict.counted.items()}
    anomalies = Counter(group_of[id_] for id_ in outputs.anomalies if id_ in group_of)
    table = _table("Groups", ("GROUP",), ("MINUTES", "READINGS", "LOWEST AVERAGE", "HIGHEST AVERAGE", "ANOMALIES"))
    for group in sorted({minute.group for minute, _ in outputs.averages}):
        rows = [average for minute, average in outputs.averages if minute.group == group]
        values = [average.average for average in rows if average.average is not None]
        table.add_row(
            group,
            f"{len(rows):,}",
            f"{sum(average.readings for average in rows):,}",
            f"{min(values):.2f} °C" if values else "-",
            f"{max(values):.2f} °C" if values else "-",
            f"{anomalies[group]:,}",
        )
    return table


def _checks(proof: Proof) -> Table:
    table = _table(
        "By event id, from the log and the outputs", ("WHAT",), ("EXPECTED", "FOUND", "MISSING", "DUPLICATE", "WRONG")
    )
    for check in proof.checks:
        numbers = (check.expected, check.found, check.missing, check.doubled, check.wrong)
        table.add_row(check.what, *(f"{number:,}" for number in numbers), style="" if check.holds() else "bold red")
    return table


def _table(title: str, left: tuple[str, ...], right: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="bold")
    for column in left:
        table.add_column(column, min_width=12)
    for column in right:
        table.add_column(column, justify="right")
    return table


def _console() -> Console:
    return Console(highlight=False, soft_wrap=True)
