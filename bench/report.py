"""Results as a table on the terminal and as Markdown."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.results import Better, Measure, Results

BEGIN_MARK = "<!-- figures of `make bench` -->"
END_MARK = "<!-- end of figures -->"

TITLES: Mapping[str, str] = {"barnabas": "Barnabas", "kafka": "Apache Kafka", "idle broker": "an idle Barnabas"}
"""The columns in their order, by server name."""


def print_table(results: Results, console: Console, titles: Mapping[str, str] = TITLES) -> None:
    console.print("  ".join(f"{name} {value}" for name, value in results.machine.items()), markup=False)
    servers = [name for name in titles if any(name in values for values in results.values.values())]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("BENCHMARK")
    for name in servers:
        table.add_column(titles[name].upper(), justify="right")
    table.add_column("UNIT")
    for name in ("RATIO", "TARGET"):
        table.add_column(name, justify="right")
    table.add_column("")
    shown = ""
    for measure in results.values:
        if measure.benchmark != shown:
            shown = measure.benchmark
            table.add_row(Text(shown, "bold cyan"))
        is_met = results.meets_target(measure)
        table.add_row(
            f"  {measure.name}",
            *(number(results.value(measure, name)) for name in servers),
            measure.unit,
            ratio_text(results, measure),
            target_text(measure),
            "" if is_met is None else Text("ok", "green") if is_met else Text("short", "bold red"),
        )
    console.print(table)
    for sentence in results.notes:
        console.print(sentence, markup=False, highlight=False)


def with_figures(
    page: str, results: Results, titles: Mapping[str, str] = TITLES, *, begin_mark: str = BEGIN_MARK, picture: str = ""
) -> str:
    """The page with the text between its two marks replaced; `picture` is Markdown to put before the tables."""
    before, begin, rest = page.partition(begin_mark)
    _, end, after = rest.partition(END_MARK)
    if not begin or not end:
        raise ValueError(f"the page has no {begin_mark} or {END_MARK}; add them around the tables")
    figures = "\n\n".join(filter(None, (picture, markdown(results, titles))))
    return f"{before}{begin}\n\n{figures}\n\n{end}{after}"


def markdown(results: Results, titles: Mapping[str, str] = TITLES) -> str:
    machine = "\n".join(f"| {name} | {value} |" for name, value in results.machine.items())
    benchmarks = dict.fromkeys(measure.benchmark for measure in results.values)
    tables = (f"### {name}\n\n{markdown_table(results, name, titles)}" for name in benchmarks)
    notes = "\n".join(f"- {sentence}" for sentence in results.notes)
    return "\n\n".join((f"| | |\n|---|---|\n{machine}", *tables, notes))


def markdown_table(results: Results, benchmark: str, titles: Mapping[str, str] = TITLES) -> str:
    rows = [measure for measure in results.values if measure.benchmark == benchmark]
    servers = [name for name in titles if any(name in results.values[measure] for measure in rows)]
    head = ["", *(titles[name] for name in servers), "unit", "ratio", "target", ""]
    lines = [head, ["---", *("---:" for _ in servers), "---", "---:", "---:", "---"]]
    for measure in rows:
        verdict = {None: "", True: "ok", False: "**short**"}[results.meets_target(measure)]
        values = [number(results.value(measure, name)) for name in servers]
        lines.append([measure.name, *values, measure.unit, ratio_text(results, measure), target_text(measure), verdict])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio_text(results: Results, measure: Measure) -> str:
    ratio = results.ratio(measure)
    return "" if ratio is None else f"{ratio:.2f}"


def target_text(measure: Measure) -> str:
    if measure.ceiling is not None:
        return f"<= {measure.ceiling:g} {measure.unit}"
    if measure.target is None:
        return ""
    return f"{'>=' if measure.better is Better.MORE else '<='} {measure.target:g}"
