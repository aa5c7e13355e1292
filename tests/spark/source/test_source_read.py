"""What a task yields: every row once, in batches that are large enough."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from source_world import numbered, write

from barnabas.spark.options.source import batch_options
from barnabas.spark.source.batch import tasks
from barnabas.spark.source.read import joined, read_ranges
from barnabas.testing import Broker


def batch_of(first: int, count: int, size: int = 8) -> pa.RecordBatch:
    return pa.record_batch(
        {"value": pa.array([b"%0*d" % (size, first + number) for number in range(count)], pa.binary())}
    )


@given(sizes=st.lists(st.integers(0, 4000), max_size=12))
def test_small_batches_are_joined_and_keep_their_order(sizes: list[int]) -> None:
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    found = list(joined(batch_of(first, count) for first, count in zip(starts, sizes, strict=True)))
    assert [row for batch in found for row in batch.column(0).to_pylist()] == [b"%08d" % n for n in range(sum(sizes))]
    assert all(batch.num_rows >= 3000 for batch in found[:-1])


def test_large_rows_do_not_wait() -> None:
    found = list(joined([batch_of(0, 3, 1 << 19), batch_of(3, 3, 1 << 19)]))
    assert [batch.num_rows for batch in found] == [3, 3]


def test_many_small_partitions_are_one_batch(broker: Broker, barnabas_topic: str) -> None:
    broker.create_topic(barnabas_topic, partitions=20)
    for partition in range(20):
        write(broker.bootstrap_servers, barnabas_topic, numbered(10 * partition, 10), partition=partition)
    options = batch_options({"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": barnabas_topic})
    (ranges,) = tasks(options)
    (batch,) = read_ranges(ranges, options, ("partition", "value"))
    assert sorted(map(int, batch.column("value").to_pylist())) == list(range(200))
    assert set(batch.column("partition").to_pylist()) == set(range(20))
