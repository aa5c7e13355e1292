"""Files and directories of a simulated disk, each with its current and its durable state.

A change is applied to `current` at once, and added to `pending`; `sync` applies the pending changes to `durable`. A
power cut resets `current` to `durable` plus any number of pending changes, oldest first, that the device happened to
have written. Changes of a file are writes and truncations; those of a directory are one or two names (a rename within a
directory is one change, hence atomic). A file's name belongs to its directory: syncing the file does not make its name
durable, syncing the directory does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random


@dataclass(slots=True)
class Write:
    position: int
    data: bytes

    def torn(self, size: int) -> "Write":
        return Write(self.position, self.data[:size])

    def apply(self, content: bytearray) -> None:
        if len(content) < self.position:
            content.extend(bytes(self.position - len(content)))
        content[self.position : self.position + len(self.data)] = self.data


@dataclass(slots=True)
class Truncate:
    size: int

    def apply(self, content: bytearray) -> None:
        if self.size <= len(content):
            del content[self.size :]
        else:
            content.extend(bytes(self.size - len(content)))


@dataclass(slots=True, eq=False)
class FileNode:
    mtime_ms: int = 0
    cached: bool = True
    current: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Write | Truncate] = field(default_factory=list)

    def change(self, change: Write | Truncate) -> None:
        change.apply(self.current)
        self.pending.append(change)

    def sync(self) -> None:
        for change in self.pending:
            change.apply(self.durable)
        self.pending.clear()

    def power_cut(self, random: Random | None) -> None:
        if random is not None and self.pending:
            kept = self.pending[: random.randint(0, len(self.pending))]
            if kept and isinstance(last := kept[-1], Write):
                kept[-1] = last.torn(random.randint(0, len(last.data)))
            for change in kept:
                change.apply(self.durable)
        self.pending.clear()
        self.current = bytearray(self.durable)


NameChange = tuple[str, "FileNode | DirNode | None"]


@dataclass(slots=True, eq=False)
class DirNode:
    current: dict[str, "FileNode | DirNode"] = field(default_factory=dict)
    durable: dict[str, "FileNode | DirNode"] = field(default_factory=dict)
    pending: list[tuple[NameChange, ...]] = field(default_factory=list)

    def change(self, *names: NameChange) -> None:
        _apply_names(self.current, names)
        self.pending.append(names)

    def sync(self) -> None:
        for names in self.pending:
            _apply_names(self.durable, names)
        self.pending.clear()

    def power_cut(self, random: Random | None) -> None:
        """This directory and everything durable below it."""
        if random is not None:
            for names in self.pending[: random.randint(0, len(self.pending))]:
                _apply_names(self.durable, names)
        self.pending.clear()
        self.current = dict(self.durable)
        for name in sorted(self.current):
            self.current[name].power_cut(random)

    def files(self) -> list[FileNode]:
        found: list[FileNode] = []
        for node in self.current.values():
            found.extend(node.files() if isinstance(node, DirNode) else [node])
        return found


def _apply_names(entries: dict[str, FileNode | DirNode], names: Sequence[NameChange]) -> None:
    for name, node in names:
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node
