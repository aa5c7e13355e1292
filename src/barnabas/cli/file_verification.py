"""`barnabas log verify` for the other files: checkpoints, snapshots, ids, the state of the quorum."""

import os
from collections.abc import Callable, Iterator

from barnabas.cli.found_damage import FoundDamage
from barnabas.env.disk import RealDisk
from barnabas.log.checkpoint_file import CorruptCheckpoint, decode_offsets
from barnabas.log.epoch_cache import FILE_NAME as EPOCHS
from barnabas.log.epoch_cache import EpochCache
from barnabas.log.log_directory import CLEANER_OFFSETS, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS
from barnabas.log.meta_properties import FILE_NAME as META_PROPERTIES
from barnabas.log.meta_properties import CorruptMetaProperties, read_meta_properties
from barnabas.log.partition_metadata import FILE_NAME as TOPIC_ID
from barnabas.log.partition_metadata import read_topic_id
from barnabas.log.producer_snapshot import CorruptSnapshot, decode_snapshot, list_snapshots, snapshot_path
from barnabas.raft.core import snapshot_file
from barnabas.raft.core.election_state import FILE_NAME as QUORUM_STATE
from barnabas.raft.core.election_state import decode_election_state
from barnabas.wire.errors import CorruptMessage


def verify_directory_files(path: str) -> list[FoundDamage]:
    """Of a data directory; nothing if it is not one."""
    disk = RealDisk()
    return list(_directory_damages(disk, path)) if disk.exists(f"{path}/{META_PROPERTIES}") else []


def _directory_damages(disk: RealDisk, path: str) -> Iterator[FoundDamage]:
    try:
        read_meta_properties(disk, path)
    except CorruptMetaProperties as error:
        yield _whole(disk, f"{path}/{META_PROPERTIES}", str(error))
    for name in (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS, CLEANER_OFFSETS):
        yield from _decoded(disk, f"{path}/{name}", decode_offsets, CorruptCheckpoint, "a broker uses defaults")


def verify_partition_files(disk: RealDisk, directory: str) -> tuple[EpochCache | None, list[FoundDamage]]:
    """Also the leader epochs, if they can be read, to be compared with the batches."""
    damages = list(_partition_damages(disk, directory))
    try:
        return EpochCache.load(disk, directory), damages
    except FileNotFoundError:
        return None, damages
    except CorruptCheckpoint as error:
        path = f"{directory}/{EPOCHS}"
        return None, [*damages, _whole(disk, path, f"{error}; a broker reads the epochs from the batches")]


def _partition_damages(disk: RealDisk, directory: str) -> Iterator[FoundDamage]:
    for offset in list_snapshots(disk, directory):
        path = snapshot_path(directory, offset)
        try:
            decode_snapshot(disk.read_file(path))
        except CorruptSnapshot as error:
            yield _whole(disk, path, f"not a producer snapshot: {error}; a broker rebuilds it")
    if disk.exists(f"{directory}/{TOPIC_ID}") and read_topic_id(disk, directory) is None:
        yield _whole(disk, f"{directory}/{TOPIC_ID}", "it has no valid topic id; a broker writes the file again")
    path = f"{directory}/{QUORUM_STATE}"
    yield from _decoded(disk, path, decode_election_state, CorruptMessage, "a broker does not start with it")
    for name in disk.list_dir(directory):
        if snapshot_file.parse_snapshot_name(name) is not None:
            path = f"{directory}/{name}"
            reading = snapshot_file.decode_snapshot
            yield from _decoded(disk, path, reading, CorruptMessage, "a broker does not start with it")


def _decoded(
    disk: RealDisk, path: str, decode: Callable[[bytes], object], error_type: type[Exception], consequence: str
) -> Iterator[FoundDamage]:
    if disk.exists(path):
        try:
            decode(disk.read_file(path))
        except error_type as error:
            yield _whole(disk, path, f"{error}; {consequence}")


def _whole(disk: RealDisk, path: str, reason: str) -> FoundDamage:
    return FoundDamage(os.path.normpath(path), 0, disk.size(path), reason)
