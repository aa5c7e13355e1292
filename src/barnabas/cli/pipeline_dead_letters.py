"""`barnabas pipeline dead-letters | replay-dead-letters`."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.output import plural, print_json, print_table, say
from barnabas.cli.pipeline_options import Version, with_project

if TYPE_CHECKING:
    from barnabas.pipeline.dead_letters.listing import Overview
    from barnabas.pipeline.dead_letters.reading import Letter
    from barnabas.pipeline.project import Project

Origin = Annotated[str | None, typer.Option("--from", metavar="NAME", help="Only those of this source or flow.")]

_VALUE_MAX = 60
_SCHEMA = "(schema)"


@with_project
def dead_letters(
    found: "Project",
    origin: Origin = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="Show at most N, the newest.")] = 50,
    output_format: OutputFormat = Format.table,
) -> None:
    """List the records that did not match their schema or broke a rule, and why."""
    from barnabas.pipeline.dead_letters.listing import overview_of

    overview = overview_of(found, origin=origin, limit=limit)
    if output_format is Format.json:
        print_json(_as_object(overview))
    elif overview.total:
        _print(overview)
    else:
        say(f"There are no dead letters in {overview.topic}")


@with_project
def replay_dead_letters(
    found: "Project",
    origin: Origin = None,
    version: Version = "v1",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent, and send nothing.")] = False,
) -> None:
    """Send dead letters of sources to their topics again, each exactly once, after a rule or schema was corrected."""
    from barnabas.pipeline.dead_letters.sending import replay

    outcome = replay(found, origin=origin, version=version, dry_run=dry_run)
    for source, count in sorted(outcome.sent.items()):
        verb = "would be sent" if dry_run else "sent"
        print(f"{plural(count, 'dead letter')} of {source} {verb} to {found.sources[source].topic} again")
    if not outcome.sent:
        print(f"There are no dead letters of {version} to send again")
    _warn(outcome.left, outcome.behind)


def _warn(left: Mapping[str, int], behind: Mapping[str, int]) -> None:
    for source, count in sorted(behind.items()):
        verb = "is" if count == 1 else "are"
        say(
            f"warning: {plural(count, 'record')} of {source} {verb} probably behind its watermark: windows and joins "
            "drop such rows\nhint: replay the history instead: barnabas pipeline replay --as NEW"
        )
    for name, count in sorted(left.items()):
        say(
            f"warning: {plural(count, 'dead letter')} of {name} cannot be sent again: they were refused by a flow, or "
            "their source is no longer in the project\n"
            "hint: replay the history instead: barnabas pipeline replay --as NEW"
        )


def _print(found: "Overview") -> None:
    rows = [
        {
            "from": reason.origin,
            "version": reason.version,
            "rule": reason.rule or _SCHEMA,
            "letters": reason.count,
            "waiting": reason.waiting,
            "for_example": reason.example,
        }
        for reason in found.reasons
    ]
    print_table(rows, ("from", "version", "rule", "letters", "waiting", "for_example"))
    print()
    print_table([_row(letter) for letter in found.newest], ("time", "from", "rule", "place", "error", "key", "value"))
    if found.total > len(found.newest):
        say(
            f"{len(found.newest)} of {plural(found.total, 'dead letter')} in {found.topic}, the newest; "
            "--limit shows more"
        )


def _row(letter: "Letter") -> dict[str, object]:
    place = None
    if letter.source_topic is not None:
        place = f"{letter.source_topic}-{letter.source_partition}@{letter.source_offset}"
    return {
        "time": _time(letter.timestamp_ms),
        "from": letter.origin,
        "rule": letter.rule or _SCHEMA,
        "place": place,
        "error": letter.error,
        "key": _short(letter.key),
        "value": _short(letter.value),
    }


def _as_object(found: "Overview") -> dict[str, object]:
    return {
        "topic": found.topic,
        "total": found.total,
        "reasons": [
            {
                "from": reason.origin,
                "version": reason.version,
                "rule": reason.rule,
                "letters": reason.count,
                "waiting": reason.waiting,
                "example": reason.example,
            }
            for reason in found.reasons
        ],
        "letters": [
            {
                "partition": letter.partition,
                "offset": letter.offset,
                "from": letter.origin,
                "version": letter.version,
                "rule": letter.rule,
                "error": letter.error,
                "source": {
                    "topic": letter.source_topic,
                    "partition": letter.source_partition,
                    "offset": letter.source_offset,
                },
                "timestamp_ms": letter.timestamp_ms,
                "attempt": letter.attempt,
                "key": _text(letter.key),
                "value": _text(letter.value),
            }
            for letter in found.newest
        ],
    }


def _time(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def _text(data: bytes | None) -> str | None:
    """Anything but text is shown as hexadecimal digits."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"0x{data.hex()}"


def _short(data: bytes | None) -> str | None:
    text = _text(data)
    if text is None:
        return None
    text = "".join(each if each.isprintable() else "·" for each in text)
    return text if len(text) <= _VALUE_MAX else f"{text[:_VALUE_MAX]}…"
