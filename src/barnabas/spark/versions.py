"""What differs between the versions of Spark that Barnabas runs on; no other module asks for the version.

`docs/spark.md` has the table for users. In short: 4.0 offers no filters to a source in Python; 4.0 and 4.1 do not tell
it where a batch begins, how much a trigger wants, and that the trigger is AvailableNow; and 4.0 has some classes in
other packages of the JVM.
"""

from typing import TYPE_CHECKING, Final

from barnabas.spark.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader

    from barnabas.spark.options.source import SourceOptions

Version = tuple[int, int]

OLDEST: Final[Version] = (4, 0)
NEWEST: Final[Version] = (4, 3)
OLDEST_FOR_PIPELINES: Final[Version] = (4, 2)
"""The first with AvailableNow and limits for sources in Python: replays and `--once` must end at the current end."""
_OLDEST_WITH_LIMITS: Final[Version] = (4, 2)
_OLDEST_WITH_SORTED_PACKAGES: Final[Version] = (4, 1)

_STREAMING: Final = "org.apache.spark.sql.execution.streaming"


class UnsupportedSpark(UserError):
    """Too old, or too new to be known."""


def problem() -> UnsupportedSpark | None:
    """Why the installed Spark cannot be used."""
    if _installed()[0] == NEWEST[0]:
        return None
    return UnsupportedSpark(
        f"This needs Spark {_text(OLDEST)} to {_text(NEWEST)}, and pyspark {_name()} is installed.",
        "run pip install 'barnabas[spark]', which brings one that fits; a cluster needs the same version",
    )


def check() -> None:
    if found := problem():
        raise found


def check_for_pipelines() -> None:
    if OLDEST <= _installed() < OLDEST_FOR_PIPELINES:
        raise UnsupportedSpark(
            f"Pipelines need Spark {_text(OLDEST_FOR_PIPELINES)} or later, and pyspark {_name()} is installed.",
            f"run pip install 'pyspark[sql]>={_text(OLDEST_FOR_PIPELINES)},<{_text(NEWEST, 1)}'; "
            'reading and writing topics with format("barnabas") works with this one, too',
        )


def stream_reader(options: "SourceOptions", columns: tuple[str, ...], start_digest: str) -> "DataSourceStreamReader":
    if _installed() >= _OLDEST_WITH_LIMITS:
        from barnabas.spark.source.limited_stream_reader import LimitedStreamReader

        return LimitedStreamReader(options, columns, start_digest)
    from barnabas.spark.source.tracking_stream_reader import TrackingStreamReader

    return TrackingStreamReader(options, columns, start_digest)


def checkpoint_manager() -> str:
    """The class that writes checkpoints through Hadoop's FileSystem."""
    package = _STREAMING if _installed() < _OLDEST_WITH_SORTED_PACKAGES else f"{_STREAMING}.checkpointing"
    return f"{package}.FileSystemBasedCheckpointFileManager"


def _installed() -> Version:
    major, minor = _name().split(".")[:2]
    return int(major), int(minor)


def _name() -> str:
    from pyspark import __version__

    return __version__


def _text(version: Version, later: int = 0) -> str:
    return f"{version[0]}.{version[1] + later}"
