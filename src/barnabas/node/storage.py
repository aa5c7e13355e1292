"""Opens the broker's log directories: reads or formats them, and locks them.

A new directory is formatted without a separate step: the first start of a cluster generates the cluster id. Directories
of another cluster or node are refused, and not changed.
"""

import base64
import logging
import random
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from barnabas.env import Clock, Disk, RealDisk
from barnabas.log.directory_lock import DirectoryLock
from barnabas.log.log_store import LogStore
from barnabas.log.meta_properties import CorruptMetaProperties, read_meta_properties
from barnabas.log.settings import LogSettings
from barnabas.metadata.configs import BrokerConfigs
from barnabas.model import TopicPartition
from barnabas.node.errors import StartError
from barnabas.node.metadata_check import check_metadata
from barnabas.wire.errors import KafkaError

logger = logging.getLogger(__name__)

CLOSING_THREADS: Final = 16


class Storage:
    def __init__(self, store: LogStore, cluster_id: str) -> None:
        self.store = store
        self.cluster_id = cluster_id
        self.paths = [directory.path for directory in store.directories]
        # After an unclean stop every partition begins a new leader epoch.
        self.was_clean = not any(directory.unclean for directory in store.directories)

    @property
    def metadata_path(self) -> str:
        """The directory of the metadata log: the first."""
        return self.paths[0]

    @property
    def directory_ids(self) -> list[uuid.UUID]:
        return [each.properties.directory_id for each in self.store.directories if each.properties is not None]

    def close(self, *, broker_epoch: int, inline: bool) -> None:
        """Close all logs, several at a time: the device can serve their syncs together. `inline`: without threads."""
        if inline:
            self.store.close(broker_epoch=broker_epoch)
            return
        with ThreadPoolExecutor(CLOSING_THREADS, thread_name_prefix="barnabas-close") as pool:
            self.store.close(pool.map, broker_epoch=broker_epoch)


def open_storage(
    configs: BrokerConfigs,
    *,
    disk: Disk,
    clock: Clock,
    rng: random.Random,
    settings_of: Callable[[TopicPartition], LogSettings],
) -> Storage:
    paths = _log_dirs(configs)
    try:
        cluster_id = _cluster_id(disk, paths) or _new_cluster_id(rng)
        store = LogStore(
            disk,
            paths,
            cluster_id=cluster_id,
            node_id=configs.integer("node.id"),
            settings_of=settings_of,
            now_ms=clock.now_ms,
            random=rng,
            # The lock keeps other processes out; there are none on a simulated disk.
            lock=DirectoryLock if isinstance(disk, RealDisk) else None,
            inspect=lambda path: check_metadata(disk, path) if path == paths[0] else None,
        )
    except (KafkaError, CorruptMetaProperties, ValueError, BlockingIOError) as error:
        raise StartError(str(error)) from error
    except (FileExistsError, NotADirectoryError) as error:
        raise StartError(
            f"log directory {error.filename or paths[0]} is not a directory; choose another with --data-dir or log.dirs"
        ) from error
    except OSError as error:
        raise StartError(
            f"log directory {error.filename or paths[0]} cannot be used: {error.strerror}; "
            "choose one that this user may write to with --data-dir or log.dirs"
        ) from error
    first = store.directories[0]
    if first.health.is_offline:
        store.close()
        raise StartError(
            f"log directory {first.path}, which holds the metadata log, cannot be used: {first.health.error}; "
            "repair the disk, or restore the directory from a backup"
        )
    return Storage(store, cluster_id)


def _log_dirs(configs: BrokerConfigs) -> list[str]:
    paths = list(configs.strings("log.dirs")) or [configs.string("log.dir") or "barnabas-data"]
    metadata_dir = configs.string("metadata.log.dir")
    if metadata_dir is not None:
        if metadata_dir not in paths:
            raise StartError(f"metadata.log.dir={metadata_dir} is not one of log.dirs; add it there")
        paths.remove(metadata_dir)
        paths.insert(0, metadata_dir)
    return [path.rstrip("/") for path in paths]


def _cluster_id(disk: Disk, paths: list[str]) -> str | None:
    for path in paths:
        found = read_meta_properties(disk, path)
        if found is not None:
            return found.cluster_id
    return None


def _new_cluster_id(rng: random.Random) -> str:
    """A random id in Kafka's format: URL-safe base 64, without a leading dash, which tools would take for a flag."""
    while True:
        text = base64.urlsafe_b64encode(uuid.UUID(int=rng.getrandbits(128), version=4).bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text
