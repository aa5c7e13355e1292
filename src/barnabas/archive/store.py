"""The folder of a topic: locks for its writers, and changes of its manifest.

    DIR/TOPIC/_manifest.json                       lists the files
    DIR/TOPIC/PARTITION-START-END.parquet          a file of it
    DIR/TOPIC/.PARTITION-START.parquet.tmp         one that is being written
    DIR/TOPIC/.archiver.lock, .manifest.lock       held by a process, free when it dies

A file is written under a temporary name, synced, renamed, and only then added to the manifest, which is replaced
atomically. So the manifest is correct after a crash at any moment. A crash may leave a file that is not in the
manifest; the next archiver removes it.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal

from barnabas.history.errors import HistoryError, NoHistory
from barnabas.history.manifest import MANIFEST_NAME, Manifest, load, to_json, topic_folder
from barnabas.portable.replacement import TEMPORARY, move_into_place

_ARCHIVER_LOCK: Final = ".archiver.lock"
_MANIFEST_LOCK: Final = ".manifest.lock"


class Step(StrEnum):
    """The steps of finishing a file, in this order. Tests crash after each of them."""

    FILE_WRITTEN = "file-written"
    FILE_SYNCED = "file-synced"
    FILE_RENAMED = "file-renamed"
    FILE_IN_PLACE = "file-in-place"
    MANIFEST_WRITTEN = "manifest-written"
    MANIFEST_SYNCED = "manifest-synced"
    MANIFEST_RENAMED = "manifest-renamed"
    MANIFEST_IN_PLACE = "manifest-in-place"


OnStep = Callable[[Step], None]


def ignore_step(step: Step) -> None:
    """For use outside of tests."""


class TopicStore:
    def __init__(self, history: Path, topic: str, *, on_step: OnStep = ignore_step) -> None:
        self.history = history
        self.topic = topic
        self.folder = topic_folder(history, topic)
        self.on_step = on_step

    def load(self) -> Manifest | None:
        try:
            return load(self.history, self.topic)
        except NoHistory:
            return None

    @contextmanager
    def archiving(self) -> Iterator[None]:
        """Lock the topic for one archiver, and remove what a killed one has left."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HistoryError(
                f"The folder {self.folder} cannot be created: {error.strerror}", "choose another with --to"
            ) from error
        with _locked(self.folder / _ARCHIVER_LOCK, wait=False) as is_ours:
            if not is_ours:
                raise HistoryError(
                    f"Another archiver writes the history of {self.topic} in {self.history}",
                    "stop it, or let it run: one is enough",
                )
            self.remove_leftovers()
            yield

    def change(self, how: Callable[[Manifest | None], Manifest]) -> Manifest:
        """Replace the manifest atomically by the result of `how`."""
        with _locked(self.folder / _MANIFEST_LOCK, wait=True):
            old = self.load()
            new = how(old)
            if new != old:
                self._replace(new)
        return new

    def remove_leftovers(self) -> None:
        manifest = self.load()
        named = set() if manifest is None else {piece.file for piece in manifest.files()}
        for path in self.folder.iterdir():
            is_strange = path.suffix == ".parquet" and path.name not in named
            if is_strange or path.name.endswith(TEMPORARY):
                path.unlink(missing_ok=True)

    def finish(self, what: Literal["file", "manifest"], written: Path, name: str) -> None:
        """Sync what was written under a temporary name, and rename it."""
        self.on_step(Step(f"{what}-written"))
        move_into_place(written, self.folder / name, on_step=lambda step: self.on_step(Step(f"{what}-{step}")))

    def _replace(self, manifest: Manifest) -> None:
        manifest.check()
        temporary = self.folder / f".{MANIFEST_NAME}{TEMPORARY}"
        temporary.write_text(to_json(manifest), encoding="utf-8")
        self.finish("manifest", temporary, MANIFEST_NAME)


@contextmanager
def _locked(path: Path, *, wait: bool) -> Iterator[bool]:
    """Whether we got the lock. The file stays, the lock ends with the process."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(handle)
