"""How far a version has read: the end offsets of its last finished batch, from its checkpoint.

The consumer group of a query has nearly the same offsets, but one batch late: Spark tells a source that a batch is done
only when it plans the next one.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from barnabas.model import TopicPartition
from barnabas.pipeline.driver.logic import logic_folder
from barnabas.pipeline.project import load
from barnabas.pipeline.project.model import Project
from barnabas.spark.errors import UserError
from barnabas.spark.source.offsets import PartitionOffsets, parse


def reached_offsets(checkpoint: Path) -> PartitionOffsets | None:
    """The next offset of each partition that a query reads; None: it has not finished a batch yet."""
    while True:
        done = _numbers(checkpoint / "commits")
        if not done:
            return None
        try:
            lines = (checkpoint / "offsets" / str(done[-1])).read_text().splitlines()
        except FileNotFoundError:
            if _numbers(checkpoint / "commits") != done:
                continue  # a newer batch finished, and old files were removed
            return None
        break
    # The first line is a version, the second Spark's metadata; then a line for each source.
    offsets: PartitionOffsets = {}
    for line in lines[2:]:
        if line != "-":
            offsets |= parse(json.loads(line)).partitions
    return offsets


def records_behind(ours: Mapping[TopicPartition, int], theirs: Mapping[TopicPartition, int]) -> int:
    """Records that they have read and we have not, in topics that both read."""
    topics = {place.topic for place in ours}
    return sum(max(0, end - ours.get(place, 0)) for place, end in theirs.items() if place.topic in topics)


def has_run(project: Project, version: str) -> bool:
    return logic_folder(project.state_folder(version)).is_dir()


def known_versions(project: Project) -> list[str]:
    """The versions that have run here, in order."""
    folder = project.state_folder().parent
    found = [each.name for each in folder.iterdir() if logic_folder(each).is_dir()] if folder.is_dir() else []
    return sorted(found, key=lambda name: (len(name), name))


def as_started(project: Project, version: str) -> Project:
    """The project as it was when this version first ran: its outputs may have had other names."""
    folder = logic_folder(project.state_folder(version))
    if not folder.is_dir():
        known = ", ".join(known_versions(project)) or "none"
        raise UserError(
            f"{version} has never run here (these have: {known})",
            f"run it over the history: barnabas pipeline replay --as {version}",
        )
    return load(project.file, profile=project.profile, overrides=project.overrides, kept=folder)


def _numbers(folder: Path) -> list[int]:
    if not folder.is_dir():
        return []
    return sorted(int(each.name) for each in folder.iterdir() if each.name.isdigit())
