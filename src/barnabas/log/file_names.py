"""How Kafka names the files of a partition: the base offset in twenty digits, then what the file holds.

A suffix after that says which step of a two-step change the file is in: `.deleted` waits for its removal, `.cleaned` is
being written by the cleaner, `.swap` is complete and about to replace the segments it was cleaned from.
"""

import re
from typing import Final, NamedTuple

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TXN_INDEX: Final = ".txnindex"
TXN_CHECKSUM: Final = ".txnchecksum"
"""Ours, of the transaction index: its format has no room for one. Kafka leaves files of other names alone."""
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
    """None for everything that is not part of a segment: checkpoints, metadata, raft snapshots."""
    match = _NAME.fullmatch(name)
    return None if match is None else FileName(int(match["offset"]), match["kind"], match["suffix"])
