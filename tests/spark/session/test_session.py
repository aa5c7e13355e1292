"""The session that users get."""

import os
import sys
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_workers_run_this_interpreter_over_unix_sockets(spark: "SparkSession") -> None:
    def look(batches):  # type: ignore[no-untyped-def] # Spark looks at annotations
        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict(
                {"python": [sys.executable], "unix": [os.environ["PYTHON_UNIX_DOMAIN_ENABLED"]]}
            )

    rows = spark.range(1).mapInArrow(look, "python string, unix string").collect()
    assert [(row.python, row.unix) for row in rows] == [(sys.executable, "True")]


def test_java_has_no_module_that_it_warns_of(spark: "SparkSession") -> None:
    jvm: Any = spark._jvm
    assert not jvm.java.lang.ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent()


def test_workers_import_the_installed_pyspark(spark: "SparkSession") -> None:
    """Not the sources in Spark's archive, which every process would compile."""
    import pyspark

    def look(batches):  # type: ignore[no-untyped-def] # Spark looks at annotations
        import py4j
        import pyarrow as pa
        import pyspark

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"spark": [pyspark.__file__], "py4j": [py4j.__file__]})

    (row,) = spark.range(1).mapInArrow(look, "spark string, py4j string").collect()
    assert row.spark == pyspark.__file__
    assert ".zip" not in row.py4j


def test_a_session_serves_every_thread_that_asks_for_it(spark: "SparkSession") -> None:
    """Spark finds a sink in Python by the session of the thread, and a new thread has none."""
    failures: list[str] = []

    def write() -> None:
        session()
        try:
            spark.sql("SELECT 'a' AS value").write.format("barnabas").mode("append").save()
        except Exception as error:
            failures.append(str(error))

    thread = Thread(target=write)
    thread.start()
    thread.join()
    (failure,) = failures
    assert "kafka.bootstrap.servers" in failure
    assert "DATA_SOURCE_NOT_FOUND" not in failure


def test_a_running_session_is_used_and_says_what_it_keeps(spark: "SparkSession") -> None:
    setting = "spark.sql.shuffle.partitions"
    before = spark.conf.get(setting)
    assert session() is spark
    assert session(master="local[2]", **{setting: 3}) is spark
    assert spark.conf.get(setting) == "3", "what can be set while it runs is set"
    session(master="local[2]", **{setting: before})
    with pytest.warns(UserWarning, match="is used as it is") as warned:
        assert session(master="spark://elsewhere:7077", **{"spark.executor.memory": "7g"}) is spark
    (warning,) = warned
    assert "master local[2], not spark://elsewhere:7077" in str(warning.message)
    assert "spark.executor.memory unset, not 7g" in str(warning.message)
    assert "Call stop() on it first" in str(warning.message)
    assert warning.filename == __file__


def test_large_values_come_in_small_batches(spark: "SparkSession") -> None:
    """A writer's Arrow batch is bounded in bytes: 10,000 rows of a megabyte would be 10 GB."""

    def sizes(batches):  # type: ignore[no-untyped-def] # Spark looks at annotations
        import pyarrow as pa

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"size": [batch.nbytes]})

    rows = spark.range(0, 100, 1, 1).selectExpr("repeat('x', 1000000) AS value")
    found = [row.size for row in rows.mapInArrow(sizes, "size long").collect()]
    assert sum(found) > 100_000_000
    assert max(found) < 20_000_000
