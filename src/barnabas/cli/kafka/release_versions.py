"""Kafka's releases and the feature levels that belong to them, for `kafka-features`."""

from typing import Final

from barnabas.cli.kafka.options import UsageError

RELEASES: Final = {
    7: "3.3-IV3",
    8: "3.4-IV0",
    9: "3.5-IV0",
    10: "3.5-IV1",
    11: "3.5-IV2",
    12: "3.6-IV0",
    13: "3.6-IV1",
    14: "3.6-IV2",
    15: "3.7-IV0",
    16: "3.7-IV1",
    17: "3.7-IV2",
    18: "3.7-IV3",
    19: "3.7-IV4",
    20: "3.8-IV0",
    21: "3.9-IV0",
    22: "4.0-IV0",
    23: "4.0-IV1",
    24: "4.0-IV2",
    25: "4.0-IV3",
    26: "4.1-IV0",
    27: "4.1-IV1",
    28: "4.2-IV0",
    29: "4.2-IV1",
    30: "4.3-IV0",
}
"""By level of metadata.version."""
LATEST: Final = 30

_SINCE: Final = {
    "kraft.version": ((21, 1),),
    "transaction.version": ((24, 2),),
    "group.version": ((22, 1),),
    "eligible.leader.replicas.version": ((26, 1),),
    "share.version": ((28, 1),),
    "streams.version": ((28, 1),),
}
"""From which metadata.version on a release comes with which level."""

DEPENDENCIES: Final = {("eligible.leader.replicas.version", 1): ("metadata.version", 23)}
LEVELS: Final = {"metadata.version": (7, LATEST)} | {name: (0, steps[-1][1]) for name, steps in _SINCE.items()}


def level_of(release: str) -> int:
    """`4.3-IV0`, or `4.3` for the newest of that release."""
    found = [level for level, name in RELEASES.items() if name == release or name.startswith(f"{release}-")]
    if not found:
        raise UsageError(
            f"Unknown metadata.version {release}. Supported metadata.version are from {RELEASES[7]} to"
            f" {RELEASES[LATEST]}",
            hint="run barnabas kafka-features version-mapping to see the releases",
        )
    return max(found)


def levels_of(metadata_level: int) -> dict[str, int]:
    """All features of the release that brought this metadata.version, that one first."""
    others = {
        name: max((level for since, level in steps if metadata_level >= since), default=0)
        for name, steps in _SINCE.items()
    }
    return {"metadata.version": metadata_level} | others
