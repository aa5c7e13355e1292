"""One Spark for all tests of a pytest worker, with the settings that pipelines have; nobody may stop it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from barnabas.spark import session

    home = tmp_path_factory.mktemp("spark")
    runs_already = SparkContext._active_spark_context is not None  # started by other tests of this worker
    started = (
        SparkSession.builder.getOrCreate()
        if runs_already
        else session(
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
    )
    own = started.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    yield own
    if not runs_already:
        started.stop()
