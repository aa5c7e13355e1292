"""Kafka's checkpoint files: a version line, a line with the count of entries, one line per entry.

Most hold an offset per partition (`recovery-point-offset-checkpoint` and others in each log directory). The leader
epochs of a partition are stored in the same format. A file is always replaced as a whole.

A damaged digit makes another offset, and a wrong log start offset would delete records. So files with offsets have a
checksum, written as the offset of a topic that does not exist: Kafka reads such an entry and ignores it. A file without
a checksum was written by Kafka, and is accepted.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from fastcrc.crc32 import iscsi

from barnabas.env import Disk
from barnabas.model import TopicPartition

VERSION: Final = 0
CHECKSUM: Final = TopicPartition("__barnabas_checksum", 0)


class CorruptCheckpoint(Exception):
    """The file is not a checkpoint of this kind, or is truncated."""


def encode_entries(entries: Iterable[str]) -> bytes:
    lines = list(entries)
    return "".join(f"{line}\n" for line in (str(VERSION), str(len(lines)), *lines)).encode()


def decode_entries(content: bytes) -> list[list[str]]:
    """The entries, each split at whitespace. An empty file, as Kafka creates it, has none."""
    try:
        lines = content.decode().split("\n")
        if lines == [""]:
            return []
        if lines[-1]:
            raise CorruptCheckpoint("the last line is truncated")
        if int(lines[0]) != VERSION:
            raise CorruptCheckpoint(f"its version is {lines[0]}, not {VERSION}")
        entries = [line.split() for line in lines[2:] if line]
        expected = int(lines[1])
    except (ValueError, IndexError) as error:
        raise CorruptCheckpoint(f"malformed: {error}") from error
    if len(entries) != expected:
        raise CorruptCheckpoint(f"it should have {expected} entries and has {len(entries)}")
    return entries


def encode_offsets(offsets: Mapping[TopicPartition, int], *, checksum: bool = True) -> bytes:
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())]
    if checksum:
        lines.append(f"{CHECKSUM.topic} {CHECKSUM.partition} {_checksum(lines)}")
    return encode_entries(lines)


def decode_offsets(content: bytes) -> dict[TopicPartition, int]:
    offsets = {}
    lines = []
    for entry in decode_entries(content):
        try:
            topic, partition, offset = entry
            offsets[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError as error:
            raise CorruptCheckpoint(f"malformed entry {entry}") from error
        if topic != CHECKSUM.topic:
            lines.append(" ".join(entry))
    checksum = offsets.pop(CHECKSUM, None)
    if checksum is not None and checksum != _checksum(lines):
        raise CorruptCheckpoint("its checksum is wrong")
    return offsets


def _checksum(lines: Iterable[str]) -> int:
    return iscsi("\n".join(lines).encode())


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """Empty if the file does not exist."""
    return decode_offsets(disk.read_file(path)) if disk.exists(path) else {}
