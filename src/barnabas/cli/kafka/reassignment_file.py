"""The JSON files of kafka-reassign-partitions: the brokers and log directories of each partition."""

import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from barnabas.cli.kafka.options import UsageError
from barnabas.cli.wire_client import Partition

ANY: Final = "any"
_EXAMPLE: Final = (
    '{"version": 1, "partitions": [{"topic": "foo", "partition": 1, "replicas": [1], "log_dirs": ["any"]}]}'
)
_HINT: Final = f"write it like {_EXAMPLE}"


class Placement(NamedTuple):
    partition: Partition
    replicas: tuple[int, ...]
    log_dirs: tuple[str, ...]
    """One for each replica; ANY leaves it to the broker."""


def read_placements(path: str) -> list[Placement]:
    parsed = _read(path)
    try:
        placements = [_placement(each) for each in parsed["partitions"]]
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} cannot be parsed: {error}", hint=_HINT) from error
    if not placements:
        raise UsageError("Partition reassignment list cannot be empty", hint=_HINT)
    seen: set[Partition] = set()
    for placement in placements:
        if not placement.replicas:
            raise UsageError(f"Partition replica list cannot be empty: {named(placement.partition)}")
        if len(set(placement.replicas)) < len(placement.replicas):
            raise UsageError(f"Partition replica lists may not contain duplicate entries: {named(placement.partition)}")
        if placement.partition in seen:
            raise UsageError(
                f"Partition reassignment contains duplicate topic partitions: {named(placement.partition)}"
            )
        seen.add(placement.partition)
    return sorted(placements)


def _placement(entry: dict[str, Any]) -> Placement:
    replicas = tuple(int(replica) for replica in entry["replicas"])
    log_dirs = tuple(str(path) for path in entry.get("log_dirs", [ANY] * len(replicas)))
    if len(log_dirs) != len(replicas):
        raise ValueError(f"{len(log_dirs)} log_dirs for {len(replicas)} replicas of {entry['topic']}")
    return Placement((str(entry["topic"]), int(entry["partition"])), replicas, log_dirs)


def read_topics(path: str) -> list[str]:
    try:
        topics = [str(each["topic"]) for each in _read(path)["topics"]]
    except (KeyError, TypeError) as error:
        hint = 'write it like {"topics": [{"topic": "foo"}], "version": 1}'
        raise UsageError(f"{path} names no topics", hint=hint) from error
    if len(set(topics)) < len(topics):
        raise UsageError("List of topics to reassign contains duplicate entries")
    return topics


def _read(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}", hint=_HINT) from error


def shown(placements: Iterable[Placement]) -> str:
    partitions = [
        {
            "topic": each.partition[0],
            "partition": each.partition[1],
            "replicas": list(each.replicas),
            "log_dirs": list(each.log_dirs),
        }
        for each in sorted(placements)
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))


def named(partition: Partition) -> str:
    return f"{partition[0]}-{partition[1]}"
