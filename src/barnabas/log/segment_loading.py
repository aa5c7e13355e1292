"""Loads the segments in a partition's directory, after completing or undoing interrupted changes, as Kafka does:

- `.deleted`: removed;
- `.cleaned`: removed, as the cleaner had not finished; unless the `.log` is a `.swap` already: then it is complete;
- `.swap`: a complete replacement. The segments that it replaces are removed, then it is renamed;
- an index without its `.log`: removed.
"""

import logging
from collections.abc import Collection, Sequence

from barnabas.env import Disk
from barnabas.log.file_names import (
    CLEANED,
    DELETED,
    LOG,
    PRODUCER_SNAPSHOT,
    SWAP,
    TXN_INDEX,
    FileName,
    file_name,
    parse_file_name,
)
from barnabas.log.index_cache import IndexCache
from barnabas.log.segment import Segment

logger = logging.getLogger(__name__)


def load_segments(
    disk: Disk, directory: str, *, index_interval_bytes: int, now_ms: int, cache: IndexCache
) -> list[Segment]:
    """All segments, ascending. Only file names and sizes are read."""

    def segment_at(base_offset: int, suffix: str = "") -> Segment:
        segment = Segment(
            disk,
            directory,
            base_offset,
            size=disk.size(f"{directory}/{file_name(base_offset, LOG, suffix)}"),
            index_interval_bytes=index_interval_bytes,
            created_ms=now_ms,
            cache=cache,
            suffix=suffix,
        )
        if FileName(base_offset, TXN_INDEX, suffix) in names:
            segment.indexes.has_aborted = disk.size(segment.path(TXN_INDEX)) > 0
        return segment

    names = _list(disk, directory)
    if any(name.suffix for name in names):
        _complete_cleaned(disk, directory, names)
        names = _list(disk, directory)
        _remove(disk, directory, sorted(name for name in names if name.suffix in (DELETED, CLEANED)))
        swapped = [segment_at(name.offset, SWAP) for name in sorted(names) if (name.kind, name.suffix) == (LOG, SWAP)]
        if swapped:
            _finish_swap(disk, directory, names, swapped)
        _rename_swap_leftovers(disk, directory)
        names = _list(disk, directory)
    bases = sorted(name.offset for name in names if name.kind == LOG)
    known = set(bases)
    orphans = sorted(name for name in names if name.kind not in (LOG, PRODUCER_SNAPSHOT) and name.offset not in known)
    if orphans:
        logger.warning("removing indexes without a .log file in %s: %s", directory, orphans)
        _remove(disk, directory, orphans)
    return [segment_at(base_offset) for base_offset in bases]


def _list(disk: Disk, directory: str) -> set[FileName]:
    return {name for name in map(parse_file_name, disk.list_dir(directory)) if name is not None}


def _complete_cleaned(disk: Disk, directory: str, names: Collection[FileName]) -> None:
    """A segment's files are renamed to `.swap` one by one, the `.log` first: rename the remaining ones."""
    for name in sorted(names):
        if name.suffix == CLEANED and name.kind != LOG and FileName(name.offset, LOG, SWAP) in names:
            disk.rename(f"{directory}/{file_name(*name)}", f"{directory}/{file_name(name.offset, name.kind, SWAP)}")


def _finish_swap(disk: Disk, directory: str, names: Collection[FileName], swapped: Sequence[Segment]) -> None:
    start = min(segment.base_offset for segment in swapped)
    end = max(max(segment.finder.find_end().next_offset, segment.base_offset + 1) for segment in swapped)
    for segment in swapped:
        segment.close()
    replaced = sorted(
        name for name in names if not name.suffix and name.kind != PRODUCER_SNAPSHOT and start <= name.offset < end
    )
    logger.info("completing an interrupted compaction in %s: segments from %d to %d", directory, start, end)
    _remove(disk, directory, replaced)
    for name in sorted(_list(disk, directory)):
        if name.suffix == SWAP:
            disk.rename(f"{directory}/{file_name(*name)}", f"{directory}/{file_name(name.offset, name.kind)}")


def _rename_swap_leftovers(disk: Disk, directory: str) -> None:
    """Rename `.swap` indexes whose `.log` was renamed before the crash."""
    for name in sorted(_list(disk, directory)):
        if name.suffix == SWAP:
            disk.rename(f"{directory}/{file_name(*name)}", f"{directory}/{file_name(name.offset, name.kind)}")


def _remove(disk: Disk, directory: str, names: Sequence[FileName]) -> None:
    for name in names:
        disk.remove(f"{directory}/{file_name(*name)}")
