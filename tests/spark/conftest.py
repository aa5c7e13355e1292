"""One Spark for all tests of a pytest worker: starting one takes seconds, so nobody may stop it or change its settings.

A test that needs other settings starts a program of its own (`subprocess`), or uses `spark.newSession()` for SQL
settings.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Warnings are errors in our tests. These are PySpark's own, and nothing we do can avoid them.
PYSPARK_WARNINGS = (
    # It asks for pandas on the way to Arrow, warns of the newest, and needs nothing of it for what we do.
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
)


def pytest_configure(config: pytest.Config) -> None:
    for warning in PYSPARK_WARNINGS:
        config.addinivalue_line("filterwarnings", warning)


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
