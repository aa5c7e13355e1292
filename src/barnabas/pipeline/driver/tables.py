"""A version's tables: folders of Parquet files that belong to one flow of one version, and nothing else.

Spark's file sink lists in the folder `_spark_metadata` which files belong to which batch. It does not handle two cases,
which this module does: a table of another checkpoint, where Spark would silently skip batches whose numbers are already
listed; and files of batches that a crash interrupted, which readers other than Spark would read.
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from barnabas.spark.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARK_FILE = "_barnabas.json"
_LOG_FOLDER = "_spark_metadata"


def is_local(path: str) -> bool:
    return "://" not in path and not path.startswith("file:")


def claim(path: str, flow: str, claimed: str | None, *, has_written: bool, into_existing: bool) -> str:
    """Take a local table for this version, or refuse one that is not its own.

    `claimed`: the id under which the version has taken it before. Returns the id.
    """
    folder = Path(path)
    if claimed is not None and _mark(folder) == claimed:
        return claimed
    if not into_existing:
        if claimed is not None and has_written:
            raise _gone(path, flow, "was replaced by another one" if _has_files(folder) else "no longer exists")
        if _has_files(folder):
            raise _foreign(path, flow)
    elif (folder / _LOG_FOLDER).exists() and not has_written:
        # Not even then: Spark would silently skip batches whose numbers are already listed there.
        raise UserError(
            f"the table {path} was written by another Spark query, whose batches have the same numbers as those of "
            f"flow `{flow}`",
            "give the output another folder, or move this one away",
        )
    folder.mkdir(parents=True, exist_ok=True)
    claimed = uuid.uuid4().hex
    (folder / MARK_FILE).write_text(json.dumps({"flow": flow, "table": claimed}) + "\n")
    return claimed


def claim_remote(
    session: "SparkSession", path: str, flow: str, claimed: str | None, *, has_written: bool, into_existing: bool
) -> str:
    """The same for a table on a file system that only Spark can reach. There is no marker file, so less is checked."""
    jvm: Any = session._jvm
    folder = jvm.org.apache.hadoop.fs.Path(path)
    files = folder.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    has_files = bool(files.exists(folder)) and len(files.listStatus(folder)) > 0
    if not into_existing and has_files and claimed is None:
        raise _foreign(path, flow)
    if not into_existing and not has_files and has_written:
        raise _gone(path, flow, "no longer exists")
    return ""


def _foreign(path: str, flow: str) -> UserError:
    return UserError(
        f"the table {path}, to which flow `{flow}` writes, has files that it did not write",
        "give the output another folder, or move this one away",
    )


def _gone(path: str, flow: str, what: str) -> UserError:
    return UserError(
        f"the table {path}, to which flow `{flow}` has written, {what}",
        "write all rows again, into a new table: barnabas pipeline replay --as NAME; or write new rows only: "
        "barnabas pipeline run --into-existing",
    )


def check_columns(flow: str, columns: Mapping[str, str], known: Mapping[str, str]) -> None:
    """A table keeps its columns: new ones may be added, but none removed or changed, or the table cannot be read."""
    differences = [
        f"  - {name} {kind} " + ("was removed" if name not in columns else f"became {columns[name]}")
        for name, kind in known.items()
        if columns.get(name) != kind
    ]
    if differences:
        raise UserError(
            f"the columns of flow `{flow}` no longer match its table:\n" + "\n".join(differences),
            "write a new table beside the old: barnabas pipeline replay --as NAME; or keep these columns",
        )


def remove_leftovers(path: str) -> int:
    """Remove files of unfinished batches, while nothing writes; returns how many.

    Spark writes such a batch again, into new files.
    """
    folder = Path(path)
    counted = _counted(folder)
    if counted is None:
        return 0
    there = {str(file): file for file in folder.rglob("*.parquet") if _LOG_FOLDER not in file.parts}
    if not counted <= there.keys():
        return 0  # the list does not match the files, so nothing can safely be called a leftover
    leftovers = there.keys() - counted
    for name in leftovers:
        there[name].unlink(missing_ok=True)
    return len(leftovers)


def _counted(folder: Path) -> set[str] | None:
    """The files in the sink's own list; None: there is no list, or one that this code cannot read completely."""
    log = folder / _LOG_FOLDER
    found: set[str] = set()
    if not log.is_dir():
        return None
    for file in log.iterdir():
        if file.name.startswith("."):
            continue
        try:
            found.update(_paths(file))
        except (OSError, ValueError, KeyError):
            return None
    return found


def _paths(file: Path) -> Iterator[str]:
    version, *entries = file.read_text().splitlines()
    if version != "v1":
        raise ValueError(version)
    for entry in entries:
        yield unquote(urlsplit(json.loads(entry)["path"]).path)


def _mark(folder: Path) -> str | None:
    try:
        read = json.loads((folder / MARK_FILE).read_text())
    except (OSError, ValueError):
        return None
    return str(read.get("table")) if isinstance(read, dict) else None


def _has_files(folder: Path) -> bool:
    if folder.exists() and not folder.is_dir():
        return True
    return folder.is_dir() and any(each.name != MARK_FILE for each in folder.iterdir())
