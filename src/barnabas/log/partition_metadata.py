"""`partition.metadata`: which topic (by id) a partition's directory belongs to.

A topic that was deleted and created again has the same name and another id; the id tells a stray directory from a
live one.
"""

import base64
import binascii
import uuid
from typing import Final

from barnabas.env import Disk

FILE_NAME: Final = "partition.metadata"


def format_uuid(value: uuid.UUID) -> str:
    """As Kafka prints ids: base64 with the URL alphabet, without padding."""
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def parse_uuid(text: str) -> uuid.UUID:
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))


def write_topic_id(disk: Disk, directory: str, topic_id: uuid.UUID) -> None:
    """Left to the next flush to sync: a thousand new partitions must not wait for a thousand fsyncs."""
    content = f"version: 0\ntopic_id: {format_uuid(topic_id)}".encode()
    file = disk.open(f"{directory}/{FILE_NAME}", create=True)
    try:
        file.write_at(0, [content])
        file.truncate(len(content))
    finally:
        file.close()


def read_topic_id(disk: Disk, directory: str) -> uuid.UUID | None:
    """None if the file is missing or unreadable (a crash came before it was synced)."""
    path = f"{directory}/{FILE_NAME}"
    if not disk.exists(path):
        return None
    try:
        lines = dict(line.split(": ", 1) for line in disk.read_file(path).decode().splitlines())
        return parse_uuid(lines["topic_id"])
    except (ValueError, KeyError, binascii.Error):
        return None
