"""Source and sink on every version of Spark that we support: one program, and one Spark, for each."""

from pathlib import Path

import pytest
from peers import OTHER_SPARKS, Peers
from pyspark import __version__ as installed
from spark_programs import SECONDS_MAX, run_cases


@pytest.mark.timeout(SECONDS_MAX)
@pytest.mark.parametrize("version", [*OTHER_SPARKS, installed])
def test_all_cases(version: str, peers: Peers, tmp_path: Path) -> None:
    first = run_cases(tmp_path, [] if version == installed else [peers.pyspark(version)])
    assert first["spark"] == version
