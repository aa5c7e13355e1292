"""Inspects a log without opening it: its valid batches, its damage and its end. Changes nothing.

As in recovery, a gap before the last batch of the log is damage: its offset is wrong.
"""

from typing import NamedTuple

from barnabas.env import Disk
from barnabas.log.batch_scan import RELATIVE_OFFSET_MAX, Damage
from barnabas.log.file_names import LOG, file_name, parse_file_name
from barnabas.log.segment_recovery import scan_after_crash


class InspectedLog(NamedTuple):
    damages: list[Damage]
    start_offset: int
    end_offset: int
    """After the last valid batch."""
    last_segment: str | None
    """The path of its `.log`; None: there is none."""


def inspect_log(disk: Disk, directory: str) -> InspectedLog:
    names = [name for name in map(parse_file_name, disk.list_dir(directory)) if name is not None]
    bases = sorted(name.offset for name in names if name.kind == LOG and not name.suffix)
    damages: list[Damage] = []
    end_offset = bases[0] if bases else 0
    paths = [f"{directory}/{file_name(base, LOG)}" for base in bases]
    for base, path, limit in zip(bases, paths, [*bases, None][1:], strict=True):
        end_offset = base
        file = disk.open(path, readonly=True)
        try:
            for found in scan_after_crash(
                file,
                file.size(),
                base_offset=base,
                offset_limit=base + RELATIVE_OFFSET_MAX + 1 if limit is None else limit,
                recovery_point=None,
                is_last=limit is None,
            ):
                if isinstance(found, Damage):
                    damages.append(found)
                else:
                    end_offset = found.batch.header.next_offset
        finally:
            file.close()
    return InspectedLog(damages, bases[0] if bases else 0, end_offset, paths[-1] if paths else None)
