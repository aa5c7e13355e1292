"""Which Spark is refused, and what is said then; how source and sink work on each is tested in `make interop`."""

from pathlib import Path

import pyspark
import pytest
from pyspark.errors import AnalysisException

from barnabas.pipeline import spark_session
from barnabas.pipeline.project import load
from barnabas.pipeline.project.init import init
from barnabas.spark import explain, versions
from barnabas.spark.data_source import BarnabasDataSource
from barnabas.spark.versions import UnsupportedSpark

TO_DO = "hint: run pip install 'barnabas[spark]', which brings one that fits; a cluster needs the same version"


@pytest.mark.parametrize("version", ["4.0.0", "4.1.4", "4.2.1", "4.3.0", "4.4.0.dev1"])
def test_versions_that_are_fine(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    versions.check()
    assert versions.problem() is None


@pytest.mark.parametrize("version", ["2.4.8", "3.5.9", "5.0.0"])
def test_versions_that_are_too_old_or_unknown(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    with pytest.raises(UnsupportedSpark) as refused:
        BarnabasDataSource({})
    assert str(refused.value) == f"This needs Spark 4.0 to 4.3, and pyspark {version} is installed.\n{TO_DO}"


def test_spark_3_knows_no_sources_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """It never loads ours, so the error is its own."""
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    unknown = AnalysisException("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: barnabas.")
    assert explain(unknown).splitlines()[-1] == TO_DO


@pytest.mark.parametrize("version", ["4.0.5", "4.1.4"])
def test_pipelines_need_more(version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    init(tmp_path / "shop", "minimal")
    monkeypatch.setattr(pyspark, "__version__", version)
    with pytest.raises(UnsupportedSpark) as refused:
        spark_session.start(load(tmp_path / "shop"))
    message, hint = str(refused.value).splitlines()
    assert message == f"Pipelines need Spark 4.2 or later, and pyspark {version} is installed."
    assert hint.startswith("hint: run pip install 'pyspark[sql]>=4.2,<4.4';")
