"""`meta.properties`: to which cluster and node a log directory belongs, in Java's properties format (version 1)."""

import uuid
from typing import Final, NamedTuple

from barnabas.env import Disk
from barnabas.log.partition_metadata import format_uuid, parse_uuid

FILE_NAME: Final = "meta.properties"
VERSION: Final = "1"


class CorruptMetaProperties(Exception):
    """The directory holds a file by that name which is not ours nor Kafka's."""


class MetaProperties(NamedTuple):
    cluster_id: str
    node_id: int
    directory_id: uuid.UUID


def read_meta_properties(disk: Disk, directory: str) -> MetaProperties | None:
    """None: the directory was not formatted yet."""
    path = f"{directory}/{FILE_NAME}"
    if not disk.exists(path):
        return None
    try:
        lines = disk.read_file(path).decode().splitlines()
        pairs = (line.split("=", 1) for line in lines if line.strip() and not line.startswith(("#", "!")))
        values = {key.strip(): value.strip() for key, value in pairs}
        if values["version"] != VERSION:
            raise CorruptMetaProperties(f"{path} has version {values['version']}, {VERSION} is expected")
        return MetaProperties(values["cluster.id"], int(values["node.id"]), parse_uuid(values["directory.id"]))
    except (ValueError, KeyError) as error:
        raise CorruptMetaProperties(f"{path} is damaged or incomplete: {error!r}") from error


def write_meta_properties(disk: Disk, directory: str, properties: MetaProperties) -> None:
    lines = (
        "#",
        f"cluster.id={properties.cluster_id}",
        f"directory.id={format_uuid(properties.directory_id)}",
        f"node.id={properties.node_id}",
        f"version={VERSION}",
        "",
    )
    disk.replace_file(f"{directory}/{FILE_NAME}", "\n".join(lines).encode())
