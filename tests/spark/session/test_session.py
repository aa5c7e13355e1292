"""The session that users get."""

import os
import sys
from typing import TYPE_CHECKING

import pytest

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
