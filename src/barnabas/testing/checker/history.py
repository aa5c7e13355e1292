"""A history on disk: JSON lines, the header first, then the events in the order of their times.

During a run every process writes its own file, unbuffered, so that no event is lost when the process is killed. At the
end the files are merged. A line that was cut off by a kill is the last of its file, and is dropped.
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from barnabas.testing.checker.events import AnyEvent, Codec, Header


class BadHistory(ValueError):
    """The message says where and why."""


class Recorder:
    """Records the events of one process."""

    def __init__(self, path: str | os.PathLike[str], process: str) -> None:
        self.process = process
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def now(self) -> float:
        return round(time.monotonic(), 6)

    def note(self, event: AnyEvent) -> None:
        os.write(self._fd, Codec.encoder.encode(event) + b"\n")

    def close(self) -> None:
        os.close(self._fd)


def write(path: str | os.PathLike[str], header: Header, events: Iterable[AnyEvent]) -> None:
    with open(path, "wb") as file:
        file.write(Codec.encoder.encode(header) + b"\n")
        file.writelines(Codec.encoder.encode(event) + b"\n" for event in events)


def read(path: str | os.PathLike[str]) -> tuple[Header, list[AnyEvent]]:
    with open(path, "rb") as file:
        lines = file.read().splitlines()
    if not lines:
        raise BadHistory(f"{path} is empty: expected the header of a history in its first line")
    try:
        header = Codec.header.decode(lines[0])
    except msgspec.MsgspecError as error:
        raise BadHistory(f"{path} is not a history: its first line is not a header ({error})") from error
    if header.format != 1:
        raise BadHistory(f"{path} has format {header.format}, but this version reads format 1")
    return header, list(_decode(path, lines[1:], first_line=2))


def merge(paths: Sequence[Path]) -> list[AnyEvent]:
    """The events of all processes, ordered by time; those of one process keep their order."""
    events: list[AnyEvent] = []
    for path in paths:
        lines = path.read_bytes().split(b"\n")
        events += _decode(path, lines[:-1], first_line=1)  # the last item is empty, or incomplete
    events.sort(key=lambda event: event.t)
    return events


def _decode(path: str | os.PathLike[str], lines: Sequence[bytes], *, first_line: int) -> Iterator[AnyEvent]:
    for number, line in enumerate(lines, first_line):
        try:
            event: AnyEvent = Codec.event.decode(line)
        except msgspec.MsgspecError as error:
            raise BadHistory(f"line {number} of {path} is not an event: {error}") from error
        yield event
