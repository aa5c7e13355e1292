"""Before a directory is touched: can the cluster's facts be read, all of them?

A topic that the metadata log has lost is a topic that does not exist: its records would be set aside, and another one
of its name may be created in its place. So damage in the metadata log or in its newest snapshot stops the start, and
everything stays as it is. Only what a crash can have left is no damage: a last batch that was being written. There is
one at most, as the controller waits until its records are synced before it decides anything else.
"""

import logging
from typing import Final

from barnabas.env import Disk
from barnabas.log.batch_scan import Damage
from barnabas.log.checkpoint_file import CorruptCheckpoint, read_offsets
from barnabas.log.inspection import InspectedLog, inspect_log
from barnabas.log.log_directory import CLEAN_SHUTDOWN, RECOVERY_POINTS
from barnabas.model import METADATA_PARTITION
from barnabas.node.errors import StartError
from barnabas.raft.node import BATCH_BYTES_MAX
from barnabas.raft.quorum_directory import QuorumDirectory
from barnabas.records.batch import HEADER_SIZE, Batch, crc_is_valid, read_header
from barnabas.wire.errors import KafkaError

logger = logging.getLogger(__name__)

# A batch has a header, and its records a little around them.
_TORN_BYTES_MAX: Final = 2 * BATCH_BYTES_MAX
_SECTOR_BYTES: Final = 512
_ZEROS_MIN: Final = 16
"""So many zeros in a row are none that a record ends with."""


def check_metadata(disk: Disk, data_dir: str) -> None:
    """StartError: they cannot be read. A directory that is new passes."""
    directory = f"{data_dir}/{METADATA_PARTITION}"
    if not disk.is_dir(directory):
        return
    quorum = QuorumDirectory(disk, directory)
    try:
        snapshot = quorum.newest_snapshot()
        quorum.read_election()
    except KafkaError as error:
        raise StartError(f"the cluster's metadata is damaged, and nothing was changed: {error}") from error
    log = inspect_log(disk, directory)
    needed_from = 0 if snapshot is None else snapshot.id.end_offset
    is_clean = disk.exists(f"{data_dir}/{CLEAN_SHUTDOWN}")
    recovery_point = _recovery_point(disk, data_dir)
    for damage in log.damages:
        if damage.next_offset is not None and damage.next_offset <= needed_from:
            logger.warning("%s; a snapshot holds what was there", damage)
        elif not _can_be_cut(disk, damage, log, recovery_point, is_clean=is_clean):
            raise StartError(_what_to_do(damage, directory))
    if is_clean and recovery_point is not None and log.end_offset < recovery_point and not log.damages:
        raise StartError(
            f"the metadata log {directory} ends at offset {log.end_offset} and was closed at {recovery_point}: "
            "its last records are missing, and nothing was changed. Restore the whole data directory from a backup"
        )


def _recovery_point(disk: Disk, data_dir: str) -> int | None:
    try:
        return read_offsets(disk, f"{data_dir}/{RECOVERY_POINTS}").get(METADATA_PARTITION)
    except CorruptCheckpoint:
        return None


def _can_be_cut(disk: Disk, damage: Damage, log: InspectedLog, recovery_point: int | None, *, is_clean: bool) -> bool:
    if damage.path != log.last_segment or damage.next_offset is not None:
        return False
    if is_clean:  # then there may be junk behind the end, at most
        return recovery_point is not None and damage.first_offset >= recovery_point
    return damage.first_offset >= (recovery_point or 0) and _looks_torn(disk, damage)


def _looks_torn(disk: Disk, damage: Damage) -> bool:
    """Whether an interrupted write can have left this at the end of a file: a part of a batch, or zeros."""
    file = disk.open(damage.path, readonly=True)
    try:
        content = file.read_at(damage.position, min(damage.size, _TORN_BYTES_MAX))
    finally:
        file.close()
    if damage.size < HEADER_SIZE or not content.strip(b"\0"):
        return True
    header = read_header(content)
    if damage.size < header.size <= _TORN_BYTES_MAX and header.base_offset == damage.first_offset:
        # The file ends within the batch, unless it is the length that is wrong.
        return not crc_is_valid(Batch(header, memoryview(content)))
    zeros_from = damage.position + len(content.rstrip(b"\0"))
    next_sector = -(-zeros_from // _SECTOR_BYTES) * _SECTOR_BYTES
    return damage.end - next_sector >= _ZEROS_MIN and zeros_from == next_sector


def _what_to_do(damage: Damage, directory: str) -> str:
    text = (
        f"the metadata log is damaged, and nothing was changed: {damage}. "
        "It says which topics there are and how they are set. Restore the whole data directory from a backup, "
        f"or see what is left with `barnabas log verify {directory}`"
    )
    if damage.next_offset is None:
        text += (
            ". If the power went and only the last change may be missing, cut it off: "
            f"`truncate -s {damage.position} {damage.path}`"
        )
    return text
