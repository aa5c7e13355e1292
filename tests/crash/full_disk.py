"""Disks that can be filled and emptied: a small tmpfs where one may be mounted, a simulated one anywhere."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from barnabas.testing.disk import SimulatedDisk


class SmallDisk(Protocol):
    def fill(self) -> None:
        """Leave no room at all."""

    def make_room(self) -> None: ...


class Tmpfs:
    """A file system of its own: needs the right to mount."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self) -> None:
        with self._ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    def make_room(self) -> None:
        self._ballast.unlink()


class SimulatedSmallDisk(SimulatedDisk):
    def fill(self) -> None:
        self.capacity_bytes = 1 << 40
        self.capacity_bytes -= self.free_bytes("/")

    def make_room(self) -> None:
        self.capacity_bytes = None


@contextlib.contextmanager
def mounted_tmpfs(path: Path, size: str) -> Iterator[Tmpfs]:
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)], check=True, capture_output=True)
    try:
        yield Tmpfs(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def may_mount() -> bool:
    if os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "mount"
        try:
            with mounted_tmpfs(path, "1m"):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False
