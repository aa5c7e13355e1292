"""`partition.metadata`: which topic (by id) a partition's directory belongs to.

A topic that was deleted and created again has the same name and another id; the id tells a stray directory from a
live one. A line with a checksum tells an id from a damaged one; Kafka does not read that far.
"""

import base64
import binascii
import logging
import uuid
from typing import Final

from fastcrc.crc32 import iscsi

from barnabas.env import Disk

logger = logging.getLogger(__name__)

FILE_NAME: Final = "partition.metadata"


def format_uuid(value: uuid.UUID) -> str:
    """As Kafka prints ids: base64 with the URL alphabet, without padding."""
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def parse_uuid(text: str) -> uuid.UUID:
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))


def write_topic_id(disk: Disk, directory: str, topic_id: uuid.UUID) -> None:
    """Left to the next flush to sync: a thousand new partitions must not wait for a thousand fsyncs."""
    content = f"version: 0\ntopic_id: {format_uuid(topic_id)}\nchecksum: {_checksum(topic_id)}\n".encode()
    file = disk.open(f"{directory}/{FILE_NAME}", create=True)
    try:
        file.write_at(0, [content])
        file.truncate(len(content))
    finally:
        file.close()


def read_topic_id(disk: Disk, directory: str) -> uuid.UUID | None:
    """None if the file is missing, as after a crash before it was synced, or damaged."""
    path = f"{directory}/{FILE_NAME}"
    if not disk.exists(path):
        return None
    try:
        lines = dict(line.split(": ", 1) for line in disk.read_file(path).decode().splitlines())
        topic_id = parse_uuid(lines["topic_id"])
        if lines.get("checksum", _checksum(topic_id)) == _checksum(topic_id):
            return topic_id
    except (ValueError, KeyError, binascii.Error):
        pass
    logger.warning("%s is damaged: the cluster's metadata says which topic the directory belongs to", path)
    return None


def _checksum(topic_id: uuid.UUID) -> str:
    return f"{iscsi(topic_id.bytes):08x}"
