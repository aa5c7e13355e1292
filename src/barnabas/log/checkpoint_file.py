"""Kafka's checkpoint files: a version line, a line with the count of entries, one line per entry, replaced as a whole.

Several hold an offset per partition (`recovery-point-offset-checkpoint` and its like in each log directory); the leader
epochs of a partition are kept in the same shape.

A damaged digit makes another offset, and a wrong log start offset would have records deleted. So files with offsets
have a checksum, as the offset of a topic that does not exist: Kafka reads such an entry and ignores it. A file without
one is Kafka's, and is believed.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from fastcrc.crc32 import iscsi

from barnabas.env import Disk
from barnabas.model import TopicPartition

VERSION: Final = 0
CHECKSUM: Final = TopicPartition("__barnabas_checksum", 0)


class CorruptCheckpoint(Exception):
    """The file is not a checkpoint of this kind, or was cut short."""


def encode_entries(entries: Iterable[str]) -> bytes:
    lines = list(entries)
    return "".join(f"{line}\n" for line in (str(VERSION), str(len(lines)), *lines)).encode()


def decode_entries(content: bytes) -> list[list[str]]:
    """The entries, each split at its blanks. An empty file has none: Kafka creates it so."""
    try:
        lines = content.decode().split("\n")
        if lines == [""]:
            return []
        if lines[-1]:
            raise CorruptCheckpoint("the last line is cut off")
        if int(lines[0]) != VERSION:
            raise CorruptCheckpoint(f"version {lines[0]} is unknown, {VERSION} was expected")
        entries = [line.split() for line in lines[2:] if line]
        expected = int(lines[1])
    except (ValueError, IndexError) as error:
        raise CorruptCheckpoint(f"malformed: {error}") from error
    if len(entries) != expected:
        raise CorruptCheckpoint(f"{expected} entries were announced, {len(entries)} are there")
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
    """No file, no offsets."""
    return decode_offsets(disk.read_file(path)) if disk.exists(path) else {}
