"""Shows a preview: a table for each flow, and what happened to the records."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from barnabas.cli.options import Format
from barnabas.cli.output import plural, print_json, print_table, say

if TYPE_CHECKING:
    from barnabas.pipeline.preview import Preview, SourceSummary

_ROWS_SHOWN = 40
_LETTERS_SHOWN = 3


def show(found: "Preview", output_format: Format) -> None:
    if output_format is Format.json:
        from barnabas.pipeline.preview import as_object

        print_json(as_object(found))
        return
    for name, rows in found.rows.items():
        print(f"{name}: {plural(len(rows), 'row')}")
        if rows:
            columns = found.columns[name]
            cells = [{column: _cell(row[column]) for column in columns} for row in rows[:_ROWS_SHOWN]]
            print_table(cells, columns, literal=True)
        if len(rows) > _ROWS_SHOWN:
            print(f"... and {len(rows) - _ROWS_SHOWN} more: --format json shows all")
        print(flush=True)
    sys.stdout.flush()
    for name, summary in found.sources.items():
        for line in _describe(name, summary):
            say(line)


def _describe(name: str, summary: "SourceSummary") -> Sequence[str]:
    if not summary.records:
        return [f"{name}: the topic has no records"]
    parts = [plural(summary.rows, "row")]
    if summary.dead:
        parts.append(plural(len(summary.dead), "dead letter"))
    parts += [
        f"{count:,} {word}"
        for word, count in (
            ("late", summary.late),
            ("dropped by a rule", summary.dropped),
            ("duplicate", summary.duplicates),
            *((f"breaking the rule `{rule}`", count) for rule, count in summary.warned.items()),
        )
        if count
    ]
    lines = [f"{name}: of the last {plural(summary.records, 'record')}: {', '.join(parts)}"]
    lines += [
        f"  partition {letter.partition}, offset {letter.offset}: {letter.error}"
        for letter in summary.dead[:_LETTERS_SHOWN]
    ]
    if len(summary.dead) > _LETTERS_SHOWN:
        lines.append(f"  ... and {len(summary.dead) - _LETTERS_SHOWN} more")
    return lines


def _cell(value: Any) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
