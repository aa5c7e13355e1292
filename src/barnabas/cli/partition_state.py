"""Reads how far a log was synced and whether it was closed cleanly, from the files of its data directory."""

import os
from typing import NamedTuple

from barnabas.env.disk import RealDisk
from barnabas.log.checkpoint_file import CorruptCheckpoint, read_offsets
from barnabas.log.log_directory import CLEAN_SHUTDOWN, RECOVERY_POINTS, parse_partition_name
from barnabas.log.meta_properties import FILE_NAME as META_PROPERTIES
from barnabas.log.producer_snapshot import list_snapshots
from barnabas.log.recovery import end_offset_at_close


class PartitionState(NamedTuple):
    is_clean: bool
    """The log was closed cleanly; or it is not in a data directory, and will not be recovered."""
    recovery_point: int | None
    """None: it is lost."""
    closed_at: int | None
    """The log end offset at the clean shutdown; None: unknown."""


def read_state(disk: RealDisk, directory: str) -> PartitionState:
    data_dir, name = os.path.split(os.path.abspath(directory))
    partition = parse_partition_name(name)
    if partition is None or not disk.exists(f"{data_dir}/{META_PROPERTIES}"):
        return PartitionState(True, None, None)
    try:
        recovery_point = read_offsets(disk, f"{data_dir}/{RECOVERY_POINTS}").get(partition, 0)
    except CorruptCheckpoint:
        recovery_point = None
    is_clean = disk.exists(f"{data_dir}/{CLEAN_SHUTDOWN}")
    closed_at = end_offset_at_close(recovery_point, list_snapshots(disk, directory))
    return PartitionState(is_clean, recovery_point, closed_at)
