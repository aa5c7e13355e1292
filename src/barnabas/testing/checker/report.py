"""Prints the result of a check: a table for people, JSON for programs."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from barnabas.testing.checker.anomalies import MEANING
from barnabas.testing.checker.check import Result

SHOWN_PER_KIND: Final = 5
"""One defect often shows a thousand times; the rest is in the JSON."""


def as_data(result: Result, path: Path) -> dict[str, Any]:
    return {
        "workload": result.header.workload,
        "seed": result.header.seed,
        "history": str(path),
        "clean": result.is_clean,
        "counts": result.counts,
        "anomalies": [{**anomaly._asdict(), "kind": anomaly.kind.value} for anomaly in result.anomalies],
    }


def print_counts(results: list[Result], console: Console) -> None:
    table = Table("", *(result.header.workload for result in results), box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    names = dict.fromkeys(name for result in results for name in result.counts)
    for name in names:
        table.add_row(name, *(f"{result.counts[name]:,}" if name in result.counts else "" for result in results))
    table.add_row("seed", *(str(result.header.seed) for result in results))
    table.add_row("anomalies", *(f"{len(result.anomalies):,}" for result in results), style="bold")
    console.print(table)


def print_anomalies(result: Result, console: Console) -> None:
    for kind, count in Counter(anomaly.kind for anomaly in result.anomalies).most_common():
        console.print(f"\n[bold]{kind}[/bold] x {count:,}: {MEANING[kind]}", highlight=False)
        for anomaly in [each for each in result.anomalies if each.kind is kind][:SHOWN_PER_KIND]:
            console.print(f"  {anomaly.where}: {anomaly.what}", markup=False, highlight=False)
            evidence = ", ".join(f"{name}={value}" for name, value in anomaly.evidence.items())
            console.print(f"      {evidence}", markup=False, highlight=False, style="dim")
        if count > SHOWN_PER_KIND:
            console.print(f"  and {count - SHOWN_PER_KIND:,} more")
