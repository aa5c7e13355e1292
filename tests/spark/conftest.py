"""One Spark for all tests of a pytest worker: starting one takes seconds, so nobody may stop it or change its settings.

A test that needs other settings starts a program of its own (`subprocess`), or uses `spark.newSession()` for SQL
settings.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    from barnabas.spark import session

    home = tmp_path_factory.mktemp("spark")
    running = session(
        "barnabas-tests",
        "local[2]",
        **{
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(home / "warehouse"),
            "spark.local.dir": str(home / "local"),
            "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        },
    )
    yield running
    running.stop()
