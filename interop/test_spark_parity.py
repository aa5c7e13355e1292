"""The same options, the same rows: our source and Spark's own Kafka connector, on our broker and on Apache Kafka.

Every result is also compared with that of a plain consumer, so a mistake of both is found too.
"""

from typing import TYPE_CHECKING

import pytest
from spark_cases import BATCH, Case
from spark_contents import Contents
from spark_queries import OURS, THEIRS, for_both, read
from spark_records import collect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("case", BATCH, ids=lambda case: case.name)
def test_batch_reads_give_the_same_rows(spark: "SparkSession", contents: Contents, case: Case) -> None:
    frames = for_both(lambda kind: read(spark, kind, contents.servers, case.options))
    assert frames[OURS].schema == frames[THEIRS].schema
    found = for_both(lambda kind: collect(frames[kind]))
    wanted = case.expected(contents)
    for kind, rows in found.items():
        assert rows == wanted, kind
