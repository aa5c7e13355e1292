"""`partition.metadata`: the id of the topic that a partition's directory belongs to.

A topic that was deleted and created again has the same name but another id, by which a stray directory is detected. An
additional line has a checksum of the id; Kafka ignores it.
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
    """As Kafka prints ids: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def parse_uuid(text: str) -> uuid.UUID:
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))


def write_topic_id(disk: Disk, directory: str, topic_id: uuid.UUID) -> None:
    """The next flush syncs it: a thousand new partitions must not wait for a thousand fsyncs."""
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
    logger.warning("%s is damaged: using the topic id in the cluster metadata", path)
    return None


def _checksum(topic_id: uuid.UUID) -> str:
    return f"{iscsi(topic_id.bytes):08x}"
