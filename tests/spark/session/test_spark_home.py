"""The home of Spark without its archives of Python sources."""

import os
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

from barnabas.spark import launch, spark_home
from barnabas.spark.java import find_java
from barnabas.spark.java_home import java_home

PACKAGE = Path(pyspark.__file__).parent


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


def test_all_is_there_and_the_archives_are_empty(prefix: Path) -> None:
    made = spark_home.spark_home()
    assert made.is_relative_to(prefix)
    assert (made / "bin" / "spark-submit").resolve() == (PACKAGE / "bin" / "spark-submit").resolve()
    assert (made / "jars").resolve() == (PACKAGE / "jars").resolve()
    archives = sorted((made / "python" / "lib").iterdir())
    assert [each.name for each in archives] == sorted(each.name for each in (PACKAGE / "python" / "lib").glob("*.zip"))
    assert all(zipfile.ZipFile(each).namelist() == [] for each in archives)


def test_it_is_made_once(prefix: Path) -> None:
    made = spark_home.spark_home()
    before = made.stat().st_ino
    assert spark_home.spark_home() == made
    assert made.stat().st_ino == before
    assert [each.name for each in made.parent.iterdir()] == [made.name]


def test_two_may_make_it_at_once(prefix: Path) -> None:
    """Another process finishes while we start: its home is kept, it may be in use."""
    made = spark_home.spark_home()
    before = made.stat().st_ino
    spark_home._make(made, PACKAGE)
    assert made.stat().st_ino == before
    assert [each.name for each in made.parent.iterdir()] == [made.name]


def test_it_is_made_anew_for_another_package(prefix: Path) -> None:
    made = spark_home.spark_home()
    (made / "jars").unlink()
    (made / "jars").symlink_to(prefix / "gone")
    assert (spark_home.spark_home() / "jars").resolve() == (PACKAGE / "jars").resolve()


def test_without_a_place_for_it_the_package_serves(prefix: Path) -> None:
    (prefix / "share").write_text("a file, not a folder")
    assert spark_home.spark_home() == PACKAGE


@pytest.mark.parametrize(
    ("master", "before", "meanwhile"),
    [
        ("local[2]", None, "ours"),
        ("spark://somewhere:7077", None, "ours"),
        ("local[2]", "/opt/spark", "/opt/spark"),
        ("yarn", None, None),
        ("yarn", "/opt/spark", "/opt/spark"),
    ],
)
def test_whose_home_a_session_starts_in(
    prefix: Path, monkeypatch: pytest.MonkeyPatch, master: str, before: str | None, meanwhile: str | None
) -> None:
    environment = {} if before is None else {"SPARK_HOME": before, "JAVA_HOME": "/opt/java"}
    java = find_java()
    monkeypatch.setattr(os, "environ", environment)
    with launch._homes(master, java):
        assert environment.get("SPARK_HOME") == (str(spark_home.spark_home()) if meanwhile == "ours" else meanwhile)
        assert environment["JAVA_HOME"] == str(java_home(java))
    assert environment == ({} if before is None else {"SPARK_HOME": before, "JAVA_HOME": "/opt/java"})
