"""Two directories of one partition: what a crash leaves when it interrupts the end of a move (`future_log`).

The log that ends later is the partition; both hold the same up to there. The other one is set aside, not removed: who
copied a directory by hand may want to look at it.
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
    """The directory that holds the partition. The other one's is set aside as a stray."""
    ids = {read_topic_id(disk, f"{directory.path}/{partition}") for directory in (one, other)}
    if len(ids - {None}) > 1:
        raise KafkaStorageError(
            f"{partition} is in {one.path} and in {other.path}, as two different topics. "
            "Move one of them out of the way"
        )
    # Whether the topic is compacted is not known yet: gaps must not be taken for damage.
    settings = replace(settings_of(partition), compact=True)
    ends = {each.path: _end_offset(disk, partition, each, settings, now_ms) for each in (one, other)}
    kept, aside = (one, other) if ends[one.path] >= ends[other.path] else (other, one)
    target = f"{aside.path}/{partition}.{unique.hex}{STRAY_SUFFIX}"
    disk.rename(f"{aside.path}/{partition}", target)
    aside.forget(partition)
    logger.warning(
        "%s is in %s up to offset %d and in %s up to %d: going on with the former; the latter is kept as %s",
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
        now_ms=now_ms,
        clean_shutdown=False,
        recovery_point=directory.recovery_points.get(partition),
        recovery_point_is_lost=directory.recovery_points_are_lost,
        log_start_offset=directory.log_starts.get(partition, 0),
    )
    for file in log.detach():
        file.close()
    return log.log_end_offset
