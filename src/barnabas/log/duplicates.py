"""Resolves a partition with two directories, which a crash leaves at the end of a move (`future_log`).

The log with the higher end offset is kept: the other has the same records up to its own end. The other is renamed to a
stray, not deleted: the directory may have been copied by hand.
"""

import logging
import uuid
from collections.abc import Callable
from dataclasses import replace

from barnabas.env import Disk
from barnabas.log.log_directory import STRAY_SUFFIX, LogDirectory
from barnabas.log.partition_log import PartitionLog
from barnabas.log.partition_metadata import read_topic_id
from barnabas.log.settings import LogSettings
from barnabas.model import TopicPartition
from barnabas.wire.errors import KafkaStorageError

logger = logging.getLogger(__name__)


def resolve_duplicate(
    disk: Disk,
    partition: TopicPartition,
    one: LogDirectory,
    other: LogDirectory,
    *,
    settings_of: Callable[[TopicPartition], LogSettings],
    now_ms: int,
    unique: uuid.UUID,
) -> LogDirectory:
    """Returns the log directory with the log that is kept. The other log is renamed to a stray."""
    ids = {read_topic_id(disk, f"{directory.path}/{partition}") for directory in (one, other)}
    if len(ids - {None}) > 1:
        raise KafkaStorageError(
            f"{partition} is in {one.path} and in {other.path}, as two different topics. "
            "Move one of the two directories elsewhere, then restart"
        )
    # It is not known yet whether the topic is compacted, so gaps must not count as damage.
    settings = replace(settings_of(partition), compact=True)
    ends = {each.path: _end_offset(disk, partition, each, settings, now_ms) for each in (one, other)}
    kept, aside = (one, other) if ends[one.path] >= ends[other.path] else (other, one)
    target = f"{aside.path}/{partition}.{unique.hex}{STRAY_SUFFIX}"
    disk.rename(f"{aside.path}/{partition}", target)
    aside.forget(partition)
    logger.warning(
        "%s is in %s up to offset %d and in %s up to %d: using the former; the latter was renamed to %s",
        partition,
        kept.path,
        ends[kept.path],
        aside.path,
        ends[aside.path],
        target,
    )
    return kept


def _end_offset(
    disk: Disk, partition: TopicPartition, directory: LogDirectory, settings: LogSettings, now_ms: int
) -> int:
    log = PartitionLog.open(
        disk,
        f"{directory.path}/{partition}",
        partition,
        settings,
        replace(directory.checkpoint_of(partition), clean_shutdown=False),
        now_ms=now_ms,
    )
    for file in log.store.detach():
        file.close()
    return log.log_end_offset
