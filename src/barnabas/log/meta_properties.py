"""`meta.properties`: the cluster and node that a log directory belongs to, in Java's properties format (version 1)."""

import uuid
from typing import Final, NamedTuple

from fastcrc.crc32 import iscsi

from barnabas.env import Disk
from barnabas.log.partition_metadata import format_uuid, parse_uuid
from barnabas.model.properties import parse_properties

FILE_NAME: Final = "meta.properties"
VERSION: Final = "1"


_CHECKSUM: Final = b"# crc32c of the lines below: "
"""A comment to Kafka. Without it, a wrong letter in the cluster id could not be detected."""


class CorruptMetaProperties(Exception):
    """The file is damaged, or not in Kafka's format."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path} is damaged: {reason}. The file identifies the cluster, the node and the directory. "
            "Nothing was changed. Restore this file from a backup of the directory"
        )


class MetaProperties(NamedTuple):
    cluster_id: str
    node_id: int
    directory_id: uuid.UUID


def read_meta_properties(disk: Disk, directory: str) -> MetaProperties | None:
    """None: the directory is not formatted yet."""
    path = f"{directory}/{FILE_NAME}"
    if not disk.exists(path):
        return None
    content = disk.read_file(path)
    try:
        _check(content)
        values = parse_properties(content.decode())
        version = values["version"]
        found = MetaProperties(values["cluster.id"], int(values["node.id"]), parse_uuid(values["directory.id"]))
    except KeyError as error:
        raise CorruptMetaProperties(path, f"{error.args[0]} is missing") from error
    except ValueError as error:
        raise CorruptMetaProperties(path, str(error)) from error
    if version != VERSION:
        raise CorruptMetaProperties(path, f"its version is {version}, not {VERSION}")
    return found


def _check(content: bytes) -> None:
    """Check the checksum in the first line, if any. Files that Kafka wrote have none."""
    first, _, rest = content.partition(b"\n")
    if first.startswith(_CHECKSUM) and first != _CHECKSUM + b"%08x" % iscsi(rest):
        raise ValueError("its checksum is wrong")


def write_meta_properties(disk: Disk, directory: str, properties: MetaProperties) -> None:
    lines = (
        f"cluster.id={properties.cluster_id}",
        f"directory.id={format_uuid(properties.directory_id)}",
        f"node.id={properties.node_id}",
        f"version={VERSION}",
        "",
    )
    content = "\n".join(lines).encode()
    disk.replace_file(f"{directory}/{FILE_NAME}", _CHECKSUM + b"%08x\n" % iscsi(content) + content)
