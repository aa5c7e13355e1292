"""One log directory: its identity, the names of its partitions, its checkpoints, and whether it was closed cleanly.

At start only names are read; logs are opened on first use. `.kafka_cleanshutdown` is removed at start and written after
a clean shutdown. But logs that were not used since an unclean shutdown have not been recovered yet, so the file is not
written until every log of the directory has been recovered. Until then every start counts as unclean, which is safe: it
only costs a scan of the newest segment of each log when it is first used.

The checkpoints contain every partition of the directory; those that are not open keep their offsets.
"""

import logging
import random
import re
import uuid
from collections.abc import Iterable
from typing import Final

from barnabas.env import Disk
from barnabas.log.checkpoint_file import CorruptCheckpoint, decode_offsets, encode_offsets
from barnabas.log.directory_health import DirectoryHealth
from barnabas.log.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from barnabas.log.partition_log import PartitionLog
from barnabas.log.recovery import LogCheckpoint
from barnabas.model import TopicPartition

logger = logging.getLogger(__name__)

CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"
DELETE_SUFFIX: Final = "-delete"
STRAY_SUFFIX: Final = "-stray"
FUTURE_SUFFIX: Final = "-future"
_DASH: Final = 62
"""The value of '-' in URL-safe base64."""


class CheckpointJob:
    """Writes a directory's checkpoints. Call `run` on a worker, then `LogDirectory.finish_checkpoint`."""

    def __init__(self, disk: Disk, changed: dict[str, dict[TopicPartition, int]]) -> None:
        self._disk = disk
        self.changed = changed
        self.error: OSError | None = None

    def run(self) -> None:
        try:
            for path, offsets in self.changed.items():
                # Kafka merges the cleaner offsets of all directories, and a partition must not occur twice.
                content = encode_offsets(offsets, checksum=not path.endswith(CLEANER_OFFSETS))
                self._disk.replace_file(path, content)
        except OSError as error:
            self.error = error


class LogDirectory:
    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self.path = path
        self.health = DirectoryHealth(path)
        self.properties: MetaProperties | None = None
        self.partitions: set[TopicPartition] = set()
        self.unclean: set[TopicPartition] = set()
        """Partitions that were not closed cleanly and have not been recovered yet."""
        self.to_remove: list[str] = []
        """Names of directories whose deletion was interrupted, and of copies that were never finished."""
        self.interrupted_moves: list[TopicPartition] = []
        """Partitions that were being moved into this directory."""
        self.recovery_points: dict[TopicPartition, int] = {}
        self.recovery_points_are_lost = False
        """Their checkpoint exists, but is damaged."""
        self.recovery_points_are_known = False
        """The checkpoint was read: a log without an entry is newer than it, and was never synced."""
        self.log_starts: dict[TopicPartition, int] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}
        self.cleaner_offsets: dict[TopicPartition, int] = {}
        self._written: dict[str, dict[TopicPartition, int]] = {}

    def load(self, *, cluster_id: str, node_id: int, random: random.Random) -> None:
        """Read names and checkpoints. An I/O error takes the directory offline; another node's directory is refused."""
        try:
            self._disk.make_dirs(self.path)
            self.properties = self._identify(cluster_id, node_id, random)
            clean = self._disk.exists(f"{self.path}/{CLEAN_SHUTDOWN}")
            if clean:
                self._disk.remove(f"{self.path}/{CLEAN_SHUTDOWN}")
                self._disk.sync_dir(self.path)  # it must not come back after a crash
            for name in self._disk.list_dir(self.path):
                if name.endswith(DELETE_SUFFIX):
                    self.to_remove.append(name)
                elif (moving := parse_future_name(name)) is not None:
                    self.to_remove.append(name)
                    self.interrupted_moves.append(moving)
                elif (partition := parse_partition_name(name)) is not None:
                    self.partitions.add(partition)
            self.unclean = set() if clean else set(self.partitions)
            for name, offsets in self._checkpoints().items():
                offsets.update(self._read_checkpoint(name))
            self._drop_impossible_log_starts()
        except OSError as error:
            # Even if it is only full: it cannot be used without its identity and its checkpoints.
            self.health.take_offline(error, "reading the log directory")

    def _identify(self, cluster_id: str, node_id: int, random: random.Random) -> MetaProperties:
        found = read_meta_properties(self._disk, self.path)
        if found is None:
            recovery_points = f"{self.path}/{RECOVERY_POINTS}"
            if not self._disk.exists(recovery_points):
                # So that a log without an entry is known to be new: what a crash loses of it leaves no gaps.
                self._disk.replace_file(recovery_points, encode_offsets({}))
            found = MetaProperties(cluster_id, node_id, _new_id(random))
            write_meta_properties(self._disk, self.path, found)
        elif (found.cluster_id, found.node_id) != (cluster_id, node_id):
            raise ValueError(
                f"log directory {self.path} belongs to node {found.node_id} of cluster {found.cluster_id}, "
                f"this is node {node_id} of cluster {cluster_id}. Choose another log.dirs, or the right configuration"
            )
        return found

    def _drop_impossible_log_starts(self) -> None:
        """A log start offset is never above the high watermark, whose checkpoint is written first."""
        for partition, log_start in list(self.log_starts.items()):
            high_watermark = self.high_watermarks.get(partition)
            if high_watermark is not None and log_start > high_watermark:
                logger.warning(
                    "%s/%s is wrong: the log start offset of %s is %d, but its high watermark is %d. The log starts at "
                    "its first record instead. If deleted records are back, delete them with kafka-delete-records",
                    self.path,
                    LOG_STARTS,
                    partition,
                    log_start,
                    high_watermark,
                )
                del self.log_starts[partition]

    def _checkpoints(self) -> dict[str, dict[TopicPartition, int]]:
        """By file name, in the order in which they are written."""
        return {
            RECOVERY_POINTS: self.recovery_points,
            HIGH_WATERMARKS: self.high_watermarks,
            LOG_STARTS: self.log_starts,
            CLEANER_OFFSETS: self.cleaner_offsets,
        }

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        path = f"{self.path}/{name}"
        if not self._disk.exists(path):
            return {}
        content = self._disk.read_file(path)
        try:
            offsets = decode_offsets(content)
        except CorruptCheckpoint as error:
            # Each has a safe default: recover everything, start at the first segment, commit again, clean again.
            logger.warning("%s is damaged (%s): using defaults; the file will be written again", path, error)
            self.recovery_points_are_lost = self.recovery_points_are_lost or name == RECOVERY_POINTS
            return {}
        self._written[path] = offsets
        self.recovery_points_are_known = self.recovery_points_are_known or name == RECOVERY_POINTS
        return offsets

    def forget(self, partition: TopicPartition) -> None:
        self.partitions.discard(partition)
        self.unclean.discard(partition)
        for offsets in self._checkpoints().values():
            offsets.pop(partition, None)

    def note_offsets(self, logs: Iterable[PartitionLog]) -> None:
        """Take the offsets of these open logs for the next checkpoint."""
        for log in logs:
            partition = log.topic_partition
            self.recovery_points[partition] = log.checkpointed_recovery_point
            self.high_watermarks[partition] = log.high_watermark
            if log.log_start_offset > log.segments[0].base_offset:
                self.log_starts[partition] = log.log_start_offset
            else:
                self.log_starts.pop(partition, None)  # as in Kafka: it follows from the name of the first segment

    def checkpoint_of(self, partition: TopicPartition) -> LogCheckpoint:
        return LogCheckpoint(
            clean_shutdown=partition not in self.unclean,
            recovery_point=self.recovery_points.get(partition, 0 if self.recovery_points_are_known else None),
            recovery_point_is_lost=self.recovery_points_are_lost,
            log_start_offset=self.log_starts.get(partition, 0),
            high_watermark=self.high_watermarks.get(partition, 0),
        )

    def begin_checkpoint(self) -> CheckpointJob | None:
        """A job that writes the checkpoints that differ from those on disk."""
        if self.health.is_offline:
            return None
        changed = {}
        for name, offsets in self._checkpoints().items():
            path = f"{self.path}/{name}"
            if offsets != self._written.get(path):
                changed[path] = dict(offsets)
        return CheckpointJob(self._disk, changed) if changed else None

    def finish_checkpoint(self, job: CheckpointJob) -> None:
        if job.error is not None:
            raise self.health.failure(job.error, "writing checkpoints") from job.error
        self._written.update(job.changed)

    def volume_bytes(self) -> tuple[int, int]:
        """Total and free bytes of the volume; (-1, -1) if unknown."""
        try:
            return self._disk.total_bytes(self.path), self._disk.free_bytes(self.path)
        except OSError:
            return -1, -1

    def mark_clean(self, broker_epoch: int) -> None:
        if not self.unclean and not self.health.is_offline:
            content = f'{{"version":0,"brokerEpoch":{broker_epoch}}}'
            self._disk.replace_file(f"{self.path}/{CLEAN_SHUTDOWN}", content.encode())


_FUTURE_NAME: Final = re.compile(rf"(.+)\.[0-9a-f]{{32}}{FUTURE_SUFFIX}")


def parse_future_name(name: str) -> TopicPartition | None:
    found = _FUTURE_NAME.fullmatch(name)
    return None if found is None else parse_partition_name(found[1])


def _new_id(random: random.Random) -> uuid.UUID:
    """An id that does not begin with a dash in base64: Kafka's tools would take it for a flag."""
    while True:
        new = uuid.UUID(int=random.getrandbits(128), version=4)
        if new.bytes[0] >> 2 != _DASH:
            return new


def parse_partition_name(name: str) -> TopicPartition | None:
    topic, dash, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition)) if topic and dash and partition.isdecimal() else None
