"""The settings of a session, without starting one."""

from pathlib import Path

import pytest

from barnabas.spark.defaults import is_local, settings_for

LOGGING = "spark.driver.extraJavaOptions"
CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"


@pytest.fixture(autouse=True)
def no_spark_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("master", "expected"),
    [("local", True), ("local[*]", True), ("local[2, 3]", True), ("spark://local:7077", False), ("yarn", False)],
)
def test_local_masters(master: str, expected: bool) -> None:
    assert is_local(master) is expected


def test_what_is_said_wins() -> None:
    conf = {"spark.python.unix.domain.socket.enabled": "false", "spark.sql.warehouse.dir": "/data", CHECKPOINTS: "mine"}
    settings = settings_for("local[2]", conf, ui=False, trace=False)
    assert {name: settings[name] for name in conf} == conf


def test_a_cluster_far_away_is_told_nothing_about_this_machine() -> None:
    near = settings_for("spark://127.0.0.1:7077", {}, ui=False, trace=False)
    far = settings_for("spark://host:7077", {}, ui=False, trace=False)
    assert near["spark.driver.host"] == "127.0.0.1"
    assert not {"spark.driver.host", "spark.driver.bindAddress", "spark.sql.warehouse.dir", CHECKPOINTS} & far.keys()


def test_java_options_reach_the_jvms_of_this_machine() -> None:
    executors = "spark.executor.extraJavaOptions"
    conf = {LOGGING: "-Xss4m"}
    here, near, far = (
        settings_for(master, conf, ui=False, trace=False, java_options="-XX:SharedArchiveFile=/a.jsa")
        for master in ("local[2]", "spark://127.0.0.1:7077", "spark://host:7077")
    )
    assert all(each[LOGGING].endswith("-XX:SharedArchiveFile=/a.jsa -Xss4m") for each in (here, near, far))
    assert near[executors] == "-XX:SharedArchiveFile=/a.jsa"
    assert executors not in here
    assert executors not in far


def test_a_catalog_that_outlives_the_session_keeps_its_files() -> None:
    settings = settings_for("local", {"spark.sql.catalogImplementation": "hive"}, ui=False, trace=False)
    assert "spark.sql.warehouse.dir" not in settings


def test_flags() -> None:
    quiet = settings_for("local", {}, ui=False, trace=False)
    loud = settings_for("local", {}, ui=True, trace=True)
    assert (quiet["spark.ui.enabled"], loud["spark.ui.enabled"]) == ("false", "true")
    assert loud["spark.sql.pyspark.jvmStacktrace.enabled"] == "true"
    assert quiet[LOGGING].endswith("log4j2.properties")
    assert loud[LOGGING].endswith("log4j2-trace.properties")
    for settings in (quiet, loud):
        assert Path(settings[LOGGING].partition("file://")[2]).exists()


def test_logging_that_somebody_configured_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conf = {LOGGING: "-Dmine=1"}
    assert settings_for("local", conf, ui=False, trace=False)[LOGGING].endswith("log4j2.properties -Dmine=1")
    (tmp_path / "log4j2.properties").touch()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert settings_for("local", conf, ui=False, trace=False)[LOGGING] == "-Dmine=1"
