"""Checks the files of a stopped broker: valid batches, in order, in their epochs; no leftover files."""

from collections.abc import Iterator

from barnabas.env import Disk
from barnabas.log.epoch_cache import EpochCache
from barnabas.log.file_names import CLEANED, DELETED, LOG, SWAP, parse_file_name
from barnabas.log.log_directory import DELETE_SUFFIX, parse_partition_name
from barnabas.records.batch import crc_is_valid, split_batches
from barnabas.testing.crash.verify import BrokenPromise

# Temporary files that will be overwritten under the same name are allowed; those whose names are not used again are
# not. Stray directories, whose topics the metadata no longer contain, are kept as in Kafka.
_LITTER = (DELETED, CLEANED, SWAP, DELETE_SUFFIX, ".checkpoint.tmp")


def verify_files(disk: Disk, data_dir: str, *, compacted: frozenset[str]) -> None:
    for name in disk.list_dir(data_dir):
        partition = parse_partition_name(name)
        if partition is not None:
            _verify_log(disk, f"{data_dir}/{name}", may_have_gaps=partition.topic in compacted)
    litter = [path for path in _walk(disk, data_dir) if path.endswith(_LITTER)]
    if litter:
        raise BrokenPromise(f"left behind: {litter}")


def _verify_log(disk: Disk, directory: str, *, may_have_gaps: bool) -> None:
    epochs = EpochCache.load(disk, directory)
    next_offset = -1
    for name in filter(None, map(parse_file_name, disk.list_dir(directory))):
        if name.kind != LOG:
            continue
        path = f"{directory}/{name.offset:020d}{LOG}"
        content = disk.read_file(path)
        size = 0
        if next_offset >= 0 and (name.offset < next_offset or (name.offset > next_offset and not may_have_gaps)):
            raise BrokenPromise(f"{path} follows offset {next_offset}")
        next_offset = max(next_offset, name.offset)
        for batch in split_batches(content):
            header = batch.header
            if not crc_is_valid(batch):
                raise BrokenPromise(f"{path} is damaged at {size}")
            if header.base_offset < next_offset or (header.base_offset > next_offset and not may_have_gaps):
                raise BrokenPromise(f"{path} has offset {header.base_offset} where {next_offset} was expected")
            if epochs.entries and header.last_offset < epochs.entries[0].start_offset:
                pass  # below the log start offset, which may be within a segment
            elif epochs.epoch_at(header.last_offset) != header.leader_epoch:
                raise BrokenPromise(
                    f"{path}: offset {header.last_offset} is of epoch {header.leader_epoch}, "
                    f"the epochs are noted as {epochs.entries}"
                )
            next_offset = header.next_offset
            size += header.size
        if size != len(content):
            raise BrokenPromise(f"{path} ends with {len(content) - size} bytes that are not a batch")


def _walk(disk: Disk, directory: str) -> Iterator[str]:
    for name in disk.list_dir(directory):
        path = f"{directory}/{name}"
        yield path
        if disk.is_dir(path):
            yield from _walk(disk, path)
