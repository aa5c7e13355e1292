"""Reports records that were deleted before a query could read them, and what to do about it.

It happens in a few ways: retention removes records, someone deletes them, a topic is deleted and created again with the
same name, a leader without all records is elected. The driver that plans a batch or the task that reads it notices, and
reports with this module which records are missing and what to type now. Needs neither a broker nor Spark.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from barnabas.spark.errors import HINT, UserError

_ROWS_MAX = 40
"""Rows of the table. A topic may have thousands of partitions; the others are counted."""


class Cause(Enum):
    """Why a requested offset is missing."""

    EXPIRED = "deleted by retention, or by hand, before they were read"
    CUT_OFF = "the log ends before the requested offset: it was truncated, or the topic was created again"
    RECREATED = "the topic was deleted and created again: it has other records at the same offsets"
    GONE = "the topic or the partition no longer exists"


@dataclass(frozen=True, slots=True)
class Loss:
    """Records of one partition that can no longer be read."""

    topic: str
    partition: int
    wanted: int
    """The first offset that was to be read."""
    available: int | None
    """The first offset that can be read instead; None: there is none."""
    cause: Cause = Cause.EXPIRED
    until: int | None = None
    """The end of the requested range, exclusive; None: it has no known end."""
    oldest_left_ms: int | None = None
    """The timestamp of the record at `available`, if it was looked up: older records are gone."""

    @property
    def lost_at_most(self) -> int | None:
        """Records, an upper bound: compaction, transaction markers and aborted records leave holes in the offsets.

        None if unknown: offsets of a topic that was created again do not relate to those of the old one.
        """
        if self.cause is not Cause.EXPIRED:
            return None if self.until is None else max(0, self.until - self.wanted)
        if self.available is None:
            return None if self.until is None else max(0, self.until - self.wanted)
        end = self.available if self.until is None else min(self.available, self.until)
        return max(0, end - self.wanted)


class DataLost(UserError):
    """Records are gone, and failOnDataLoss is set."""

    def __init__(self, losses: Iterable[Loss]) -> None:
        self.losses = tuple(_ordered(losses))
        super().__init__(failure(self.losses), next_steps(self.losses))

    def __reduce__(self) -> tuple[type[UserError], tuple[Any, ...]]:
        return type(self), (self.losses,)


def failure(losses: Iterable[Loss]) -> str:
    """For an error: the query stops here."""
    found = _ordered(losses)
    opening = f"{_subject(found)} gone before the query could read {_them(found)}; failOnDataLoss is true, so it stops."
    return "\n".join([opening, "", *_table(found), ""])


def next_steps(losses: Iterable[Loss]) -> str:
    """The choices after a failure, on one line."""
    steps = [
        'to continue without these records, set option("failOnDataLoss", "false") and start the query again with the '
        "same checkpoint",
        "to start over, give it a new checkpointLocation and say from where with startingOffsets or startingTimestamp",
        _keep_longer(_ordered(losses)),
    ]
    return "; ".join(step for step in steps if step)


def warning(losses: Iterable[Loss]) -> str:
    """For the log: the query continues after the gap."""
    found = _ordered(losses)
    opening = (
        f"{_subject(found)} gone before the query could read {_them(found)}. It continues without "
        f"{_them(found)}, because failOnDataLoss is false."
    )
    lines = [opening, "", *_table(found)]
    advice = _keep_longer(found)
    return "\n".join([*lines, "", f"{HINT}{advice}"] if advice else lines)


def _ordered(losses: Iterable[Loss]) -> list[Loss]:
    found = sorted(losses, key=lambda loss: (loss.topic, loss.partition))
    if not found:
        raise ValueError("a report of lost data needs at least one loss")
    return found


def _subject(losses: Sequence[Loss]) -> str:
    known = [loss.lost_at_most for loss in losses]
    total = sum(count for count in known if count is not None)
    unknown = known.count(None)
    if unknown:
        places = "1 partition" if unknown == 1 else f"{unknown:,} partitions"
        return f"Records of {places}" + (f", and up to {total:,} of others," if total else "") + " were"
    return "1 record was" if total == 1 else f"Up to {total:,} records were"


def _them(losses: Sequence[Loss]) -> str:
    return "it" if [loss.lost_at_most for loss in losses] == [1] else "them"


def _keep_longer(losses: Sequence[Loss]) -> str:
    topics = sorted({loss.topic for loss in losses if loss.cause is Cause.EXPIRED})
    if not topics:
        return ""
    return (
        "to keep records longer than the query may be behind, raise retention.ms or retention.bytes: "
        f"barnabas topic alter {topics[0]} --config retention.ms=..." + (", and so on" if len(topics) > 1 else "")
    )


def _table(losses: Sequence[Loss]) -> list[str]:
    head = ("topic", "partition", "wanted from", "available from", "lost at most", "why")
    rows = [_row(loss) for loss in losses[:_ROWS_MAX]]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = []
    for row in (head, *rows):
        cells = [row[0].ljust(widths[0]), *(row[column].rjust(widths[column]) for column in range(1, 5)), row[5]]
        lines.append("  " + "  ".join(cells))
    if len(losses) > _ROWS_MAX:
        lines.append(f"  and {len(losses) - _ROWS_MAX:,} more partitions")
    return lines


def _row(loss: Loss) -> tuple[str, ...]:
    count = loss.lost_at_most
    why = loss.cause.value
    if loss.oldest_left_ms is not None:
        why += f"; the oldest remaining record is from {_moment(loss.oldest_left_ms)}"
    return (
        loss.topic,
        str(loss.partition),
        f"{loss.wanted:,}",
        "-" if loss.available is None else f"{loss.available:,}",
        "unknown" if count is None else f"{count:,}",
        why,
    )


def _moment(timestamp_ms: int) -> str:
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # a producer may write any 64-bit number as a timestamp
        return f"timestamp {timestamp_ms}"
    return moment.isoformat(" ", "milliseconds").replace("+00:00", " UTC")
