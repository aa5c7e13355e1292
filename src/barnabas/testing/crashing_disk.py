"""A disk that counts the broker's steps on it, and ends the broker at a chosen one.

    disk = CrashingDisk(RealDisk(), at=CrashPoint.parse("roll: create .log#2/after"), die=kill_this_process)

Every change gets a name (`disk_steps`), is counted, and is carried out by the underlying disk. Replacing a file
consists of single changes already, and removing a tree is split into them, so that a crash can happen between them.

| moment | what happens at the step |
|---|---|
| before | the broker dies, nothing is done |
| torn | half of the bytes are written, then the broker dies |
| after | it is done, then the broker dies |
| error | it fails with EIO, once |
| full | the disk is full from here on, until `make_room()`; the first write leaves half of its bytes |
"""

import errno
import os
from collections import Counter
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final, Literal, NamedTuple, Self, get_args

from barnabas.env.disk import Disk, File
from barnabas.env.file_range import FileRange
from barnabas.portable.files import Buffer
from barnabas.testing.disk_steps import Effect, name_step

Moment = Literal["before", "torn", "after", "error", "full"]

MOMENTS: Final[tuple[Moment, ...]] = get_args(Moment)
ANY_STEP: Final = "*"
_GROWING: Final[frozenset[Effect]] = frozenset(("create", "write", "make"))


class CrashPoint(NamedTuple):
    step: str
    """Its name, or `*` for any step."""
    occurrence: int
    """Counted from 1."""
    moment: Moment

    def __str__(self) -> str:
        return f"{self.step}#{self.occurrence}/{self.moment}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """`name#n/moment`. The default moment is `before`, the default number 1."""
        rest, slash, moment = text.rpartition("/")
        if not slash:
            rest, moment = text, "before"
        step, _, occurrence = rest.partition("#")
        if moment not in MOMENTS or (occurrence and not occurrence.isdecimal()):
            raise ValueError(f"{text!r} is not a crash point: write name#number/moment, the moment one of {MOMENTS}")
        return cls(step, int(occurrence or 1), moment)


class CrashingDisk(Disk):
    def __init__(
        self,
        inner: Disk,
        *,
        at: CrashPoint | None = None,
        die: Callable[[], None],
        on_step: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`die` ends the broker, or raises. It is called again for everything the broker tries after that."""
        self.at = at
        self.counts: Counter[str] = Counter()
        """Steps seen so far, by name."""
        self.is_reached = False
        """Whether the crash point was reached."""
        self.dead = False
        self.full = False
        self._inner = inner
        self._die = die
        self._on_step = on_step
        self._lock = Lock()

    def make_room(self) -> None:
        self.full = False

    # Changes

    def open(self, path: str, *, create: bool = False, readonly: bool = False) -> File:
        opened: list[File] = []

        def act() -> None:
            opened.append(self._inner.open(path, create=create, readonly=readonly))

        if create and not self._inner.exists(path):
            self.change("create", path, act)
        else:
            act()
        return CrashingFile(self, opened[0])

    def make_dirs(self, path: str) -> None:
        if not self._inner.is_dir(path):
            self.change("make", path, lambda: self._inner.make_dirs(path))

    def rename(self, source: str, target: str) -> None:
        self.change("rename", source, lambda: self._inner.rename(source, target), target=target)

    def remove(self, path: str) -> None:
        self.change("remove", path, lambda: self._inner.remove(path))

    def remove_tree(self, path: str) -> None:
        for name in self._inner.list_dir(path):
            child = f"{path}/{name}"
            if self._inner.is_dir(child):
                self.remove_tree(child)
            else:
                self.remove(child)
        self.change("remove", path, lambda: self._inner.remove_tree(path))

    def sync_dir(self, path: str) -> None:
        self.change("sync names of", path, lambda: self._inner.sync_dir(path))

    def change(
        self,
        effect: Effect,
        path: str,
        act: Callable[[], None],
        *,
        target: str | None = None,
        act_half: Callable[[], None] = lambda: None,
    ) -> None:
        """Carry out one change, unless it is the crash point."""
        if self.dead:
            self._die()
        moment = self._count(name_step(effect, path, target=target))
        if moment == "full":
            self.full = True
            act_half()
        if self.full and effect in _GROWING:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        if moment == "error":
            act_half()
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        if moment in ("before", "torn"):
            if moment == "torn":
                act_half()
            self._end()
        act()
        if moment == "after":
            self._end()

    def _count(self, step: str) -> Moment | None:
        self._on_step(step)
        with self._lock:
            self.counts[step] += 1
            at = self.at
            if at is None or self.is_reached or at.step not in (step, ANY_STEP):
                return None
            if at.occurrence != (self.counts.total() if at.step == ANY_STEP else self.counts[step]):
                return None
            self.is_reached = True
            return at.moment

    def _end(self) -> None:
        self.dead = True
        self._die()

    # Reads

    def exists(self, path: str) -> bool:
        return self._inner.exists(path)

    def is_dir(self, path: str) -> bool:
        return self._inner.is_dir(path)

    def size(self, path: str) -> int:
        return self._inner.size(path)

    def mtime_ms(self, path: str) -> int:
        return self._inner.mtime_ms(path)

    def list_dir(self, path: str) -> list[str]:
        return self._inner.list_dir(path)

    def read_file(self, path: str) -> bytes:
        return self._inner.read_file(path)

    def free_bytes(self, path: str) -> int:
        return 0 if self.full else self._inner.free_bytes(path)

    def total_bytes(self, path: str) -> int:
        return self._inner.total_bytes(path)


class CrashingFile:
    __slots__ = ("_disk", "_inner", "path")

    def __init__(self, disk: CrashingDisk, inner: File) -> None:
        self.path = inner.path
        self._disk = disk
        self._inner = inner

    def size(self) -> int:
        return self._inner.size()

    def read_at(self, position: int, size: int) -> bytes:
        return self._inner.read_at(position, size)

    def read_cached(self, position: int, size: int) -> bytes | None:
        return self._inner.read_cached(position, size)

    def cached_range(self, position: int, size: int) -> FileRange | None:
        return self._inner.cached_range(position, size)

    def write_at(self, position: int, pieces: Sequence[Buffer]) -> None:
        def write_half() -> None:
            data = b"".join(pieces)
            self._inner.write_at(position, [data[: len(data) // 2]])

        self._disk.change("write", self.path, lambda: self._inner.write_at(position, pieces), act_half=write_half)

    def truncate(self, size: int) -> None:
        self._disk.change("truncate", self.path, lambda: self._inner.truncate(size))

    def moved_to(self, path: str) -> None:
        self.path = path
        self._inner.moved_to(path)

    def sync(self) -> None:
        self._disk.change("sync", self.path, self._inner.sync)

    def close(self) -> None:
        self._inner.close()
