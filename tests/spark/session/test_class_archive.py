"""The class archive (CDS) for later sessions: its path, its key, and the message if it can't be made."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.spark import class_archive
from barnabas.spark.errors import UserError
from barnabas.spark.java import Java, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = Java(Path("/java"), 17, "17.0.15", "somewhere")


def test_an_archive_is_used_if_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert class_archive.java_options(JAVA) == ""
    path = class_archive.path_for(JAVA)
    path.parent.mkdir(parents=True)
    path.touch()
    assert class_archive.java_options(JAVA).startswith(f"-XX:SharedArchiveFile={path} ")
    assert class_archive.java_options(Java(JAVA.home, 21, "21.0.1", "elsewhere")) == ""


@pytest.mark.parametrize("given", ["-XX:SharedArchiveFile=/mine.jsa", "-Xmx1g -XX:ArchiveClassesAtExit=/mine.jsa"])
def test_an_archive_of_the_user_takes_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    path = class_archive.path_for(JAVA)
    path.parent.mkdir(parents=True)
    path.touch()
    assert class_archive.java_options(JAVA, given) == ""


@pytest.mark.spark
def test_a_session_has_it_in_memory(spark: "SparkSession") -> None:
    path = class_archive.path_for(find_java())
    if not path.exists():
        pytest.skip("`barnabas spark prepare` was not run")
    jvm = spark._jvm
    assert jvm is not None
    process = jvm.java.lang.ProcessHandle.current().pid()
    assert str(path) in Path(f"/proc/{process}/maps").read_text()


def test_a_java_that_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\n[ "$1" = -version ] && echo \'openjdk version "17.0.1"\' >&2 && exit\nexit 1\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(UserError, match="Java did not create the archive") as refused:
        class_archive.make()
    assert "sessions work without" in refused.value.hint
    assert list((tmp_path / "share" / "barnabas").iterdir()) == []


def test_an_archive_that_a_jvm_does_not_survive_is_none(tmp_path: Path) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexit 134\n")
    java.chmod(0o755)
    archive = tmp_path / "cut-off.jsa"
    archive.touch()
    with pytest.raises(UserError, match="does not start with the new archive"):
        class_archive._try(Java(tmp_path / "jdk", 17, "17.0.1", "here"), archive)


def test_an_environment_that_is_somebody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "share").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(UserError, match="cannot be stored in"):
        class_archive.make()
