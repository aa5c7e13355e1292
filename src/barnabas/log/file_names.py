"""Kafka's names for the files of a partition: the base offset in twenty digits, then the kind of file.

A suffix marks a change in progress: a `.deleted` file will be removed, a `.cleaned` one is being written by the
cleaner, and a `.swap` one is complete and about to replace the segments from which it was made.
"""

import re
from typing import Final, NamedTuple

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TXN_INDEX: Final = ".txnindex"
TXN_CHECKSUM: Final = ".txnchecksum"
"""Only in Barnabas: the transaction index format has no checksum. Kafka ignores files with other names."""
PRODUCER_SNAPSHOT: Final = ".snapshot"

DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"

INDEX_KINDS: Final = (OFFSET_INDEX, TIME_INDEX, TXN_INDEX, TXN_CHECKSUM)
SEGMENT_KINDS: Final = (LOG, *INDEX_KINDS)

_NAME: Final = re.compile(
    r"(?P<offset>\d{20})(?P<kind>\.log|\.index|\.timeindex|\.txnindex|\.txnchecksum|\.snapshot)"
    r"(?P<suffix>|\.deleted|\.cleaned|\.swap)"
)


class FileName(NamedTuple):
    offset: int
    kind: str
    suffix: str


def file_name(offset: int, kind: str, suffix: str = "") -> str:
    return f"{offset:020d}{kind}{suffix}"


def parse_file_name(name: str) -> FileName | None:
    """None for files that do not belong to a segment: checkpoints, metadata, raft snapshots."""
    match = _NAME.fullmatch(name)
    return None if match is None else FileName(int(match["offset"]), match["kind"], match["suffix"])
