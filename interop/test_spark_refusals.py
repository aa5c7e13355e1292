"""The same mistakes, refused by both connectors; ours says in a few lines what is wrong, where, and what to do."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_contents import Contents
from spark_mistakes import IN_BATCHES, IN_STREAMS, Mistake
from spark_queries import OURS, for_both, read, refusal, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LINES_MAX = 12


@pytest.mark.parametrize("mistake", IN_BATCHES, ids=lambda mistake: mistake.name)
def test_a_batch_read_is_refused(spark: "SparkSession", contents_on_barnabas: Contents, mistake: Mistake) -> None:
    servers = contents_on_barnabas.servers
    answers = for_both(lambda kind: refusal(lambda: read(spark, kind, servers, mistake.options).collect()))
    check(answers[OURS], mistake)


@pytest.mark.parametrize("mistake", IN_STREAMS, ids=lambda mistake: mistake.name)
def test_a_stream_is_refused(
    spark: "SparkSession", contents_on_barnabas: Contents, mistake: Mistake, tmp_path: Path
) -> None:
    servers = contents_on_barnabas.servers
    answers = for_both(
        lambda kind: refusal(partial(stream, spark, kind, servers, mistake.options, tmp_path / kind)),
    )
    check(answers[OURS], mistake)


def check(answer: str, mistake: Mistake) -> None:
    for word in mistake.named:
        assert word in answer, answer
    assert "hint: " in answer, answer
    assert len(answer.splitlines()) <= LINES_MAX, answer
