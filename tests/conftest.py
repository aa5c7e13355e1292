"""What all tests share. No test asserts how long something took: other processes use the machine too."""

import gc
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from followed_pages import followed as followed
from hypothesis import HealthCheck, settings

from barnabas.spark.java import SHORT_LIVED
from property_effort import examples
from schedule import arranged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile(
    "barnabas",
    deadline=None,
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("barnabas")

# For each Spark that a test starts, in whatever program. Every test asks for something new: what Java's second compiler
# makes of it would seldom be used again.
os.environ["SPARK_SUBMIT_OPTS"] = SHORT_LIVED

# Brokers within a worker of pytest may have a thousand files open, and the socket on which Spark calls Python back is
# waited for with select(), which knows no file beyond the 1,024th: such low numbers are kept for it.
_LOW_NUMBERS = [os.open(os.devnull, os.O_RDONLY) for _ in range(50)]

# A shell ignores SIGINT in what it runs in the background, and a process passes that on: Ctrl-C would reach no child.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# What pytest collects lives until the end, so the garbage collector need not visit it. With it, a full collection takes
# 0.2 s, and each test with clients ends with one.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    workers = getattr(config, "workerinput", {}).get("workercount", 1)  # of pytest-xdist
    items[:] = arranged(items, workers)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """One Spark for all tests of a pytest worker: it starts in seconds, so nobody may stop it or change its settings.

    A test that needs others starts a program of its own (`subprocess`), or uses `spark.newSession()` for those of SQL.
    """
    from pyspark.java_gateway import ensure_callback_server_started

    from barnabas.spark import session

    home = tmp_path_factory.mktemp("spark")
    while _LOW_NUMBERS:
        os.close(_LOW_NUMBERS.pop())
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
    ensure_callback_server_started(running.sparkContext._gateway)
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def active_spark(request: pytest.FixtureRequest) -> None:
    """The session that a test asks for is the one that its thread works with, whatever tests before it did."""
    if "spark" in request.fixturenames:
        from barnabas.spark.launch import activate

        activate(request.getfixturevalue("spark"))
