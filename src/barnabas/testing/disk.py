"""A disk in memory that can lose unsynced data, tear writes, fail and fill up: an `env.Disk` for tests.

    disk = SimulatedDisk()
    log = PartitionLog.open(disk, ...)
    disk.inject(Fault("write", "*.log", written=10))     # the next write to a log writes 10 bytes, then fails with EIO
    disk.capacity_bytes = 4096                           # ENOSPC from there on; None makes room again
    disk.power_cut_at = disk.operations + 7              # PowerCut at the 7th change from now
    disk.crash()                                         # back to what was synced; open files are dead
    disk.crash(Random(seed))                             # any part of what was not synced survives, the last write torn

Killing a process does not lose what it wrote: `kill()` only closes its files.
"""

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from random import Random
from typing import Literal

from barnabas.env.disk import Disk, File
from barnabas.portable.files import Buffer
from barnabas.testing.disk_nodes import DirNode, FileNode, Truncate, Write

Operation = Literal["open", "read", "write", "truncate", "sync", "rename", "remove", "make_dirs", "sync_dir"]

_CHANGES: frozenset[Operation] = frozenset(
    ("open", "write", "truncate", "sync", "rename", "remove", "make_dirs", "sync_dir")
)


class PowerCut(BaseException):
    """The power is off: the disk cannot be used until `crash` was called.

    A BaseException, because no `except Exception` in the code under test survives a power cut either.
    """


@dataclass(slots=True)
class Fault:
    """An error for the next `times` operations on a matching path, after `skip` of them."""

    operation: Operation
    match: str = "*"
    error: int = errno.EIO
    skip: int = 0
    times: int = 1
    written: int = 0
    """How many bytes of a failing write are written."""


class SimulatedDisk(Disk):
    def __init__(self, *, capacity_bytes: int | None = None, now_ms: Callable[[], int] = lambda: 0) -> None:
        self.capacity_bytes = capacity_bytes
        self.power_cut_at: int | None = None
        """The number of the change at which the power fails."""
        self.operations = 0
        """Changes so far: opening, writing, truncating, syncing, renaming, removing, making directories."""
        self._now_ms = now_ms
        self._root = DirNode()
        self._faults: list[Fault] = []
        self._boot = 0

    # Faults

    def inject(self, fault: Fault) -> None:
        self._faults.append(fault)

    def heal(self) -> None:
        """Remove all faults."""
        self._faults.clear()

    def evict(self, path: str) -> None:
        """Drop the file from the page cache: `read_cached` returns None until it was read."""
        self._file(path).cached = False

    def kill(self) -> None:
        """The process dies: its files are closed, and everything it wrote is kept."""
        self._boot += 1
        self.power_cut_at = None

    def crash(self, random: Random | None = None) -> None:
        """The power fails: unsynced changes are lost; with `random`, any number of the oldest ones survive."""
        self.kill()
        self._root.power_cut(random)

    # env.Disk

    def open(self, path: str, *, create: bool = False, readonly: bool = False) -> File:
        parent, name = self._parent(path)
        node = parent.current.get(name)
        if isinstance(node, DirNode):
            raise _error(errno.EISDIR, path)
        if node is None:
            if not create:
                raise _error(errno.ENOENT, path)
            self.enter("open", path)
            node = FileNode(mtime_ms=self._now_ms())
            parent.change((name, node))
        return SimulatedFile(self, path, node, readonly=readonly, boot=self._boot)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def is_dir(self, path: str) -> bool:
        return isinstance(self._find(path), DirNode)

    def size(self, path: str) -> int:
        return len(self._file(path).current)

    def mtime_ms(self, path: str) -> int:
        return self._file(path).mtime_ms

    def list_dir(self, path: str) -> list[str]:
        return sorted(self._dir(path).current)

    def make_dirs(self, path: str) -> None:
        node = self._root
        for name in _parts(path):
            child = node.current.get(name)
            if child is None:
                self.enter("make_dirs", path)
                child = DirNode()
                node.change((name, child))
            if isinstance(child, FileNode):
                raise _error(errno.ENOTDIR, path)
            node = child

    def rename(self, source: str, target: str) -> None:
        source_parent, source_name = self._parent(source)
        target_parent, target_name = self._parent(target)
        node = source_parent.current.get(source_name)
        if node is None:
            raise _error(errno.ENOENT, source)
        if isinstance(taken := target_parent.current.get(target_name), DirNode) and taken.current:
            raise _error(errno.ENOTEMPTY, target)
        self.enter("rename", source)
        if source_parent is target_parent:
            source_parent.change((source_name, None), (target_name, node))
        else:
            target_parent.change((target_name, node))
            source_parent.change((source_name, None))

    def remove(self, path: str) -> None:
        self._file(path)
        self._unlink(path)

    def remove_tree(self, path: str) -> None:
        for name in self.list_dir(path):
            child = f"{path}/{name}"
            if self.is_dir(child):
                self.remove_tree(child)
            else:
                self.remove(child)
        self._unlink(path)

    def sync_dir(self, path: str) -> None:
        node = self._dir(path)
        self.enter("sync_dir", path)
        node.sync()
        self._keep_ancestors(path)

    def read_file(self, path: str) -> bytes:
        self.enter("read", path)
        return bytes(self._file(path).current)

    def free_bytes(self, path: str) -> int:
        self._dir(path)
        return 1 << 40 if self.capacity_bytes is None else max(0, self.capacity_bytes - self._used())

    def total_bytes(self, path: str) -> int:
        self._dir(path)
        return 1 << 41 if self.capacity_bytes is None else self.capacity_bytes

    # Called by files

    def enter(self, operation: Operation, path: str) -> Fault | None:
        """Called for every operation. Raises an injected fault, or returns it if it is a torn write."""
        if operation in _CHANGES:
            self.operations += 1
        if self.power_cut_at is not None and self.operations >= self.power_cut_at:
            raise PowerCut
        for fault in self._faults:
            if fault.operation == operation and fnmatch(path, fault.match):
                return self._strike(fault, path)
        return None

    def write(self, path: str, node: FileNode, position: int, data: bytes) -> None:
        fault = self.enter("write", path)
        error, size = (fault.error, min(fault.written, len(data))) if fault else (0, len(data))
        if self.capacity_bytes is not None:
            room = self.free_bytes("/") + max(0, len(node.current) - position)
            if size > room:
                error, size = errno.ENOSPC, room
        if size:
            node.change(Write(position, data[:size]))
            node.mtime_ms = self._now_ms()
        if error:
            raise _error(error, path)

    def sync(self, path: str, node: FileNode) -> None:
        self.enter("sync", path)
        node.sync()
        self._keep_ancestors(os.path.dirname(path))

    def is_running(self, boot: int) -> bool:
        return boot == self._boot

    def _strike(self, fault: Fault, path: str) -> Fault | None:
        if fault.skip:
            fault.skip -= 1
            return None
        fault.times -= 1
        if not fault.times:
            self._faults.remove(fault)
        if fault.operation == "write":
            return fault
        raise _error(fault.error, path)

    def _keep_ancestors(self, path: str) -> None:
        """A journal commits in order: syncing a file in a new directory makes the directory durable, too."""
        node = self._root
        for name in _parts(path):
            child = node.current.get(name)
            if not isinstance(child, DirNode):
                return
            node.durable[name] = child
            node = child

    def _used(self) -> int:
        return sum(len(node.current) for node in self._root.files())

    def _unlink(self, path: str) -> None:
        parent, name = self._parent(path)
        self.enter("remove", path)
        parent.change((name, None))

    def _find(self, path: str) -> FileNode | DirNode | None:
        node: FileNode | DirNode | None = self._root
        for name in _parts(path):
            if not isinstance(node, DirNode):
                return None
            node = node.current.get(name)
        return node

    def _file(self, path: str) -> FileNode:
        node = self._find(path)
        if node is None:
            raise _error(errno.ENOENT, path)
        if isinstance(node, DirNode):
            raise _error(errno.EISDIR, path)
        return node

    def _dir(self, path: str) -> DirNode:
        node = self._find(path)
        if node is None:
            raise _error(errno.ENOENT, path)
        if isinstance(node, FileNode):
            raise _error(errno.ENOTDIR, path)
        return node

    def _parent(self, path: str) -> tuple[DirNode, str]:
        return self._dir(os.path.dirname(path)), os.path.basename(path)


class SimulatedFile:
    __slots__ = ("_boot", "_disk", "_node", "_readonly", "path")

    def __init__(self, disk: SimulatedDisk, path: str, node: FileNode, *, readonly: bool, boot: int) -> None:
        self.path = path
        self._disk = disk
        self._node = node
        self._readonly = readonly
        self._boot = boot

    def size(self) -> int:
        return len(self._open_node().current)

    def read_at(self, position: int, size: int) -> bytes:
        node = self._open_node()
        self._disk.enter("read", self.path)
        node.cached = True
        return bytes(node.current[position : position + size])

    def read_cached(self, position: int, size: int) -> bytes | None:
        return self.read_at(position, size) if self._open_node().cached else None

    def cached_range(self, position: int, size: int) -> None:
        """No kernel knows this file."""

    def write_at(self, position: int, pieces: Sequence[Buffer]) -> None:
        self._disk.write(self.path, self._writable_node(), position, b"".join(pieces))

    def truncate(self, size: int) -> None:
        node = self._writable_node()
        self._disk.enter("truncate", self.path)
        node.change(Truncate(size))

    def moved_to(self, path: str) -> None:
        self.path = path

    def sync(self) -> None:
        self._disk.sync(self.path, self._open_node())

    def close(self) -> None:
        self._boot = -1

    def _open_node(self) -> FileNode:
        if not self._disk.is_running(self._boot):
            raise _error(errno.EBADF, self.path)
        return self._node

    def _writable_node(self) -> FileNode:
        if self._readonly:
            raise _error(errno.EBADF, self.path)
        return self._open_node()


def _parts(path: str) -> list[str]:
    return [part for part in os.path.normpath(path).split("/") if part not in ("", ".")]


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
