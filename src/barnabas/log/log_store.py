"""All partitions of a broker in its log directories. Logs are opened on first use.

A directory that fails takes only its own partitions offline: operations on their logs raise KafkaStorageError.
"""

import logging
import random
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from barnabas.env import Disk
from barnabas.log.file_names import LOG, file_name, parse_file_name
from barnabas.log.index_cache import IndexCache
from barnabas.log.jobs import DeletionJob
from barnabas.log.log_directory import DELETE_SUFFIX, STRAY_SUFFIX, CheckpointJob, LogDirectory
from barnabas.log.partition_log import PartitionLog
from barnabas.log.partition_metadata import read_topic_id
from barnabas.log.settings import LogSettings
from barnabas.model import TopicId, TopicPartition
from barnabas.wire.errors import InconsistentTopicId, KafkaStorageError, UnknownTopicOrPartition

if TYPE_CHECKING:
    from barnabas.log.future_log import FutureLog

logger = logging.getLogger(__name__)

DIRECTORY_NAME_MAX = 255


RunAll = Callable[[Callable[[PartitionLog], None], Iterable[PartitionLog]], Iterable[None]]


class Lock(Protocol):
    def release(self) -> None: ...


class StoredPartition(NamedTuple):
    topic_partition: TopicPartition
    directory: LogDirectory


class OpenJob:
    """Opens one log, which may take long after a crash. Call `run` on a worker, then `LogStore.finish_open`."""

    def __init__(self, topic_partition: TopicPartition, open_log: Callable[[], PartitionLog]) -> None:
        self.topic_partition = topic_partition
        self._open_log = open_log
        self.log: PartitionLog | None = None
        self.error: Exception | None = None

    def run(self) -> None:
        """Never raises: `finish_open` does."""
        try:
            self.log = self._open_log()
        except Exception as error:  # for the caller of `finish_open`
            self.error = error


class LogStore:
    def __init__(
        self,
        disk: Disk,
        paths: Sequence[str],
        *,
        cluster_id: str,
        node_id: int,
        settings_of: Callable[[TopicPartition], LogSettings],
        now_ms: Callable[[], int],
        random: random.Random,
        lock: Callable[[str], Lock] | None = None,
        inspect: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Reads the names of the partitions in the directories. `lock` is `DirectoryLock` on a real disk.

        `inspect` is called with each directory once it is locked, and may refuse it before anything is changed.
        """
        self._disk = disk
        self._settings_of = settings_of
        self._now_ms = now_ms
        self._random = random
        self._cache = IndexCache()
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._partition_dirs: dict[TopicPartition, LogDirectory] = {}
        self._deletions: list[DeletionJob] = []
        self._locks: list[Lock] = []
        self.directories = [LogDirectory(disk, path) for path in paths]
        try:
            for directory in self.directories:
                self._lock(directory, lock)
                inspect(directory.path)
                self._load(directory, cluster_id, node_id)
        except BaseException:
            self._release_locks()
            raise

    def _lock(self, directory: LogDirectory, lock: Callable[[str], Lock] | None) -> None:
        if lock is not None:
            self._disk.make_dirs(directory.path)
            self._locks.append(lock(directory.path))

    def _load(self, directory: LogDirectory, cluster_id: str, node_id: int) -> None:
        directory.load(cluster_id=cluster_id, node_id=node_id, random=self._random)
        for partition in sorted(directory.partitions):
            self._partition_dirs[partition] = self._resolve_duplicate(
                self._partition_dirs.get(partition), directory, partition
            )
        self._deletions += [
            DeletionJob(self._disk, self._now_ms(), [], [f"{directory.path}/{name}"]) for name in directory.to_remove
        ]

    def _resolve_duplicate(
        self, known: LogDirectory | None, found: LogDirectory, partition: TopicPartition
    ) -> LogDirectory:
        if known is None:
            return found
        from barnabas.log.duplicates import resolve_duplicate

        return resolve_duplicate(
            self._disk,
            partition,
            known,
            found,
            settings_of=self._settings_of,
            now_ms=self._now_ms(),
            unique=self._unique(),
        )

    def _unique(self) -> uuid.UUID:
        return uuid.UUID(int=self._random.getrandbits(128), version=4)

    # Looking up

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self._partition_dirs

    def partitions(self) -> Iterator[StoredPartition]:
        for topic_partition, directory in self._partition_dirs.items():
            yield StoredPartition(topic_partition, directory)

    def topic_id_of(self, topic_partition: TopicPartition) -> TopicId | None:
        """From its metadata file if the log is not open."""
        log = self._logs.get(topic_partition)
        if log is not None:
            return log.topic_id
        directory = self._partition_dirs[topic_partition]
        return read_topic_id(self._disk, f"{directory.path}/{topic_partition}")

    def directory_of(self, topic_partition: TopicPartition) -> LogDirectory | None:
        return self._partition_dirs.get(topic_partition)

    def opened(self) -> list[PartitionLog]:
        return list(self._logs.values())

    # Opening

    def find(self, topic_partition: TopicPartition) -> PartitionLog | None:
        """The log if it is open."""
        return self._logs.get(topic_partition)

    def get(self, topic_partition: TopicPartition) -> PartitionLog:
        """The log, which is opened if necessary."""
        log = self._logs.get(topic_partition)
        if log is None:
            job = self.begin_open(topic_partition)
            job.run()
            log = self.finish_open(job)
        return log

    def needs_recovery(self, topic_partition: TopicPartition) -> bool:
        """Whether opening the log scans segments: then use `begin_open` and a worker."""
        directory = self._partition_dirs.get(topic_partition)
        return directory is not None and topic_partition in directory.unclean

    def bytes_to_scan(self, topic_partition: TopicPartition) -> int:
        """How many bytes recovery has to read to open the log, by the sizes of its files."""
        directory = self._partition_dirs.get(topic_partition)
        if directory is None or topic_partition not in directory.unclean:
            return 0
        path = f"{directory.path}/{topic_partition}"
        recovery_point = directory.recovery_points.get(topic_partition, 0)
        names = [name for name in map(parse_file_name, self._disk.list_dir(path)) if name and name.kind == LOG]
        base_offsets = sorted(name.offset for name in names if not name.suffix)
        first = max((offset for offset in base_offsets if offset <= recovery_point), default=0)
        return sum(self._disk.size(f"{path}/{file_name(offset, LOG)}") for offset in base_offsets if offset >= first)

    def begin_open(self, topic_partition: TopicPartition) -> OpenJob:
        directory = self._partition_dirs.get(topic_partition)
        if directory is None:
            raise UnknownTopicOrPartition(f"{topic_partition} is not stored here")
        directory.health.check()
        return self._open_job(topic_partition, directory, self._settings_of(topic_partition), None)

    def _open_job(
        self, topic_partition: TopicPartition, directory: LogDirectory, settings: LogSettings, topic_id: TopicId | None
    ) -> OpenJob:
        now_ms = self._now_ms()
        checkpoint = directory.checkpoint_of(topic_partition)
        return OpenJob(
            topic_partition,
            lambda: PartitionLog.open(
                self._disk,
                f"{directory.path}/{topic_partition}",
                topic_partition,
                settings,
                checkpoint,
                now_ms=now_ms,
                topic_id=topic_id,
                health=directory.health,
            ),
        )

    def finish_open(self, job: OpenJob) -> PartitionLog:
        topic_partition = job.topic_partition
        already = self._logs.get(topic_partition)
        if already is not None:
            raise ValueError(f"{topic_partition} was opened twice")
        if job.log is None:
            assert job.error is not None
            raise job.error
        log = job.log
        directory = self._partition_dirs[topic_partition]
        log.store.join_cache(self._cache)
        log.on_truncated = lambda: self._checkpoint(directory)
        self._logs[topic_partition] = log
        directory.unclean.discard(topic_partition)
        if log.flush_state.recovery_point < directory.recovery_points.get(topic_partition, 0):
            self._checkpoint(directory)
        return log

    # Creating and deleting

    def create(
        self, topic_partition: TopicPartition, topic_id: TopicId, settings: LogSettings | None = None
    ) -> PartitionLog:
        """The log of a new partition, or the existing one if it has the same topic id."""
        if topic_partition in self._partition_dirs:
            log = self.get(topic_partition)
            if log.topic_id is None:
                log.assign_topic_id(topic_id)
            elif log.topic_id != topic_id:
                raise InconsistentTopicId(
                    f"{log.directory}/partition.metadata has topic id {log.topic_id}, but {topic_partition.topic} has "
                    f"{topic_id}. If the directory belongs to an older topic of that name, move the directory away; "
                    "if the file is damaged, remove the file; then restart"
                )
            return log
        directory = self._least_loaded()
        job = self._open_job(topic_partition, directory, settings or self._settings_of(topic_partition), topic_id)
        job.run()
        if job.error is None:
            directory.partitions.add(topic_partition)
            self._partition_dirs[topic_partition] = directory
        return self.finish_open(job)

    def _least_loaded(self) -> LogDirectory:
        online = [directory for directory in self.directories if not directory.health.is_offline]
        if not online:
            raise KafkaStorageError(
                "all log directories are offline. Repair or replace a disk, then restart the broker"
            )
        return min(online, key=lambda directory: len(directory.partitions))

    def delete(self, topic_partition: TopicPartition) -> None:
        """Delete the partition. Its directory is renamed now and removed later, by `due_deletions`."""
        log = self._logs.get(topic_partition)
        target = self._rename_away(topic_partition, DELETE_SUFFIX)
        if target is not None:
            files = log.store.detach() if log is not None else []
            delay_ms = (log.settings if log is not None else self._settings_of(topic_partition)).file_delete_delay_ms
            self._deletions.append(DeletionJob(self._disk, self._now_ms() + delay_ms, files, [target]))

    def set_aside(self, topic_partition: TopicPartition) -> str | None:
        """Rename the directory of a partition that belongs to no topic to a stray, as Kafka does, and keep its files.

        Returns the new path. The log must not be open.
        """
        return self._rename_away(topic_partition, STRAY_SUFFIX)

    def _rename_away(self, topic_partition: TopicPartition, suffix: str) -> str | None:
        directory = self._partition_dirs.get(topic_partition)
        if directory is None:
            return None
        directory.health.check()
        unique = f".{self._unique().hex}{suffix}"
        source = f"{directory.path}/{topic_partition}"
        target = f"{directory.path}/{str(topic_partition)[: DIRECTORY_NAME_MAX - len(unique)]}{unique}"
        try:
            self._disk.rename(source, target)
        except OSError as error:
            raise directory.health.failure(error, f"renaming {source}") from error
        self._logs.pop(topic_partition, None)
        del self._partition_dirs[topic_partition]
        directory.forget(topic_partition)
        return target

    # Moving to another directory: see `future_log`

    def begin_move(self, topic_partition: TopicPartition, directory: LogDirectory) -> "FutureLog":
        from barnabas.log.future_log import FutureLog

        return FutureLog(self._disk, directory, topic_partition, self._unique())

    def finish_move(self, topic_partition: TopicPartition, directory: LogDirectory, log: PartitionLog) -> None:
        """Use `log` in `directory` for the partition from now on."""
        self._partition_dirs[topic_partition].forget(topic_partition)
        directory.partitions.add(topic_partition)
        self._partition_dirs[topic_partition] = directory
        log.store.join_cache(self._cache)
        log.on_truncated = lambda: self._checkpoint(directory)
        self._logs[topic_partition] = log

    def remove_later(self, log: PartitionLog) -> None:
        """Remove the old log of a partition that was moved."""
        target = f"{log.directory}.{self._unique().hex}{DELETE_SUFFIX}"
        try:
            self._disk.rename(log.directory, target)
        except OSError as error:
            raise log.health.failure(error, f"renaming {log.directory}") from error
        due_ms = self._now_ms() + log.settings.file_delete_delay_ms
        self._deletions.append(DeletionJob(self._disk, due_ms, log.store.detach(), [target]))

    def due_deletions(self) -> list[DeletionJob]:
        """Jobs for a worker, to be run once each: for deleted partitions, and for deleted segments of open ones."""
        now_ms = self._now_ms()
        due = [job for job in self._deletions if job.due_ms <= now_ms]
        self._deletions = [job for job in self._deletions if job.due_ms > now_ms]
        for log in self._logs.values():
            due += log.store.due_deletions(now_ms)
        return due

    # Checkpointing and closing

    def note_offsets(self, logs: Iterable[PartitionLog]) -> None:
        """Take the offsets of logs for the next checkpoint. Call it first, for all open logs."""
        for log in logs:
            directory = self._partition_dirs.get(log.topic_partition)
            if directory is not None and self._logs.get(log.topic_partition) is log:
                directory.note_offsets([log])

    def begin_checkpoint(self) -> list[tuple[LogDirectory, CheckpointJob]]:
        """Run each job on a worker, then `directory.finish_checkpoint(job)`. One round at a time."""
        jobs = [(directory, directory.begin_checkpoint()) for directory in self.directories]
        return [(directory, job) for directory, job in jobs if job is not None]

    def checkpoint(self) -> None:
        """Write all checkpoint files that have changed, in this thread."""
        for directory in self.directories:
            self._checkpoint(directory)

    def _checkpoint(self, directory: LogDirectory) -> None:
        directory.note_offsets(self._opened_in(directory))
        job = directory.begin_checkpoint()
        if job is not None:
            job.run()
            directory.finish_checkpoint(job)

    def _opened_in(self, directory: LogDirectory) -> list[PartitionLog]:
        return [log for log in self._logs.values() if self._partition_dirs[log.topic_partition] is directory]

    def close(self, run_all: RunAll = map, *, broker_epoch: int = -1) -> None:
        """Close every log cleanly, write the checkpoints, and mark each healthy directory as cleanly shut down.

        The mark contains the broker epoch: Apache Kafka ignores a mark that is not from the broker's last run
        (KIP-966). `run_all` may close several logs at a time, as each uses only its own files.
        """
        for _ in run_all(self._close_log, list(self._logs.values())):
            pass
        for directory in self.directories:
            try:
                self._checkpoint(directory)
                directory.mark_clean(broker_epoch)
            except (KafkaStorageError, OSError) as error:
                logger.warning("log directory %s could not be closed cleanly: %s", directory.path, error)
        self._logs.clear()
        self._release_locks()

    def _close_log(self, log: PartitionLog) -> None:
        try:
            log.close(clean=True)
        except KafkaStorageError as error:
            self._partition_dirs[log.topic_partition].unclean.add(log.topic_partition)
            logger.warning("%s could not be closed cleanly: %s", log.topic_partition, error)

    def _release_locks(self) -> None:
        for lock in self._locks:
            lock.release()
        self._locks.clear()
