"""The worker's Spark with the settings that pipelines have."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(spark: "SparkSession") -> "SparkSession":
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    return own
