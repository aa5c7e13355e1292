"""A Spark session in which everything is set that users forget."""

import os
import sys

from pyspark.sql import SparkSession

# What is set unless the caller says otherwise. The order does not matter; the reason stands beside each.
DEFAULTS = {
    # Workers talk to the JVM over unix domain sockets: no TCP, no authentication per worker.
    "spark.python.unix.domain.socket.enabled": "true",
    # Off in Spark by default; with it, filters on partition, offset and timestamp reach the source.
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def session(app_name: str = "barnabas", master: str = "local[*]", **conf: str) -> SparkSession:
    """A Spark session on `master`; `conf` has Spark's own names, and wins over what is set here."""
    settings = {**DEFAULTS, **conf}
    if master.startswith("local"):
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        settings = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", **settings}
    builder = SparkSession.builder.appName(app_name).master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
