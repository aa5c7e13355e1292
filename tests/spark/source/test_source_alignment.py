"""Batches that end at one timestamp in all partitions."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_stream import Query
from source_world import add_partitions, now_ms, write

from barnabas.client.cluster import Cluster
from barnabas.client.properties import client_settings
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.model import TopicPartition
from barnabas.records.compression import Codec
from barnabas.records.record import Record, build_batch
from barnabas.spark.errors import UserError
from barnabas.spark.options.source import stream_options
from barnabas.spark.source.alignment import Found, aligned
from barnabas.spark.source.log_times import LogTimes
from barnabas.testing import Broker

Log = dict[TopicPartition, list[tuple[int, int]]]
"""Offset and timestamp of each record; offsets grow, with holes."""

timestamps = st.integers(-1, 60) | st.integers(10_000, 10_050) | st.just(10**9)
partition_logs = st.lists(st.tuples(st.integers(1, 3), timestamps), max_size=25)
logs = st.lists(partition_logs, min_size=1, max_size=4)


def made(partitions: Sequence[Sequence[tuple[int, int]]]) -> Log:
    log: Log = {}
    for number, steps in enumerate(partitions):
        offset, records = -1, []
        for step, timestamp in steps:
            offset += step
            records.append((offset, timestamp))
        log[TopicPartition("t", number)] = records
    return log


def first(records: Sequence[tuple[int, int]], begin: int, end: int, timestamp: int) -> Found | None:
    return next((Found(*each) for each in records if begin <= each[0] < end and each[1] >= timestamp), None)


def run(log: Log, begin: dict[TopicPartition, int], *, span: int, limit: int | None) -> Iterator[tuple[int, int]]:
    """All batches up to the end of the log, each checked: the timestamps of what was read, and batch numbers."""
    latest = {place: records[-1][0] + 1 if records else 0 for place, records in log.items()}
    begin = {place: min(offset, latest[place]) for place, offset in begin.items()}
    since, number = 0, 0
    while begin != latest:
        now = dict(begin)

        def look(timestamp: int, now: dict[TopicPartition, int] = now) -> dict[TopicPartition, Found]:
            assert timestamp >= 0, "other numbers have a meaning of their own for brokers"
            found = {place: first(log[place], now[place], latest[place], timestamp) for place in log}
            return {place: each for place, each in found.items() if each is not None}

        ends, cut, since = aligned(now, latest, look, span_ms=span, limit=limit, since_ms=since)
        assert ends.keys() == latest.keys()
        assert ends != now, "every batch gets on"
        for place, end in ends.items():
            beyond = first(log[place], now[place], latest[place], cut)
            assert end == (latest[place] if beyond is None else beyond.offset)
        size = sum(ends[place] - now[place] for place in ends)
        if limit is not None and size > limit:
            assert cut == since + 1, "only what has one timestamp is more than the limit"
        assert cut <= since + span
        for place, records in log.items():
            yield from ((number, at) for offset, at in records if now[place] <= offset < ends[place])
        begin, number = ends, number + 1


@given(partitions=logs, span=st.integers(1, 100), limit=st.none() | st.integers(1, 30), data=st.data())
def test_every_batch_is_cut_at_one_time_and_all_is_read(
    partitions: list[list[tuple[int, int]]], span: int, limit: int | None, data: st.DataObject
) -> None:
    log = made(partitions)
    begin = {place: data.draw(st.integers(0, records[-1][0] + 1 if records else 0)) for place, records in log.items()}
    read = [at for _, at in run(log, begin, span=span, limit=limit)]
    assert sorted(read) == sorted(at for place, all in log.items() for offset, at in all if offset >= begin[place])


@given(partitions=logs, span=st.integers(1, 100), limit=st.none() | st.integers(1, 30))
def test_no_record_comes_after_one_that_is_younger_than_its_partition_allows(
    partitions: list[list[tuple[int, int]]], span: int, limit: int | None
) -> None:
    """The basis of a watermark: read in batches, a log is no more out of order than each of its partitions."""
    log = made(partitions)
    disorder = 0
    for records in log.values():
        newest = -1
        for _, at in records:
            newest = max(newest, at)
            disorder = max(disorder, newest - at)
    newest_before, newest, last = -1, -1, -1
    for number, at in run(log, dict.fromkeys(log, 0), span=span, limit=limit):
        if number != last:
            newest_before, last = newest, number
        assert at >= newest_before - disorder
        newest = max(newest, at)


@given(count=st.integers(100, 3000), limit=st.integers(10, 200))
def test_a_steady_log_is_cut_into_batches_of_about_the_limit(count: int, limit: int) -> None:
    """And with few requests to the brokers, although ten years would be allowed."""
    log = {TopicPartition("t", n): [(i, 1_700_000_000_000 + 7 * i + n) for i in range(count)] for n in range(3)}
    times = {place: [at for _, at in records] for place, records in log.items()}
    latest = dict.fromkeys(log, count)
    begin, since, looks, sizes = dict.fromkeys(log, 0), 0, 0, []
    while begin != latest:
        now = dict(begin)

        def look(timestamp: int, now: dict[TopicPartition, int] = now) -> dict[TopicPartition, Found]:
            nonlocal looks
            looks += 1
            at = {place: max(bisect_left(times[place], timestamp), now[place]) for place in log}
            return {place: Found(*log[place][index]) for place, index in at.items() if index < count}

        begin, _, since = aligned(now, latest, look, span_ms=315_360_000_000, limit=limit, since_ms=since)
        sizes.append(sum(begin[place] - now[place] for place in log))
    assert all(limit // 2 <= size <= limit for size in sizes[:-1])
    assert looks <= 45 * len(sizes)


def test_the_option_is_a_time() -> None:
    given_options = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t"}
    assert stream_options(given_options).max_time_per_trigger_ms is None
    assert stream_options({**given_options, "maxTimePerTrigger": "5m"}).max_time_per_trigger_ms == 300_000
    for wrong in ("soon", "0s"):
        with pytest.raises(UserError, match="maxTimePerTrigger"):
            stream_options({**given_options, "maxTimePerTrigger": wrong})


Start = Callable[..., Query]
HOUR_AGO = now_ms() - 3_600_000


@pytest.fixture
def start(broker: Broker, barnabas_topic: str) -> Iterator[Start]:
    with ExitStack() as ends:

        def started(**options: str) -> Query:
            query = Query(broker.bootstrap_servers, barnabas_topic, startingOffsets="earliest", **options)
            ends.callback(query.close)
            return query

        yield started


@pytest.fixture
def put(broker: Broker, barnabas_topic: str) -> Callable[[int, Sequence[int]], None]:
    """Records at these seconds; each is named after its partition and its time."""
    broker.create_topic(barnabas_topic, partitions=3)

    def written(partition: int, seconds: Sequence[int]) -> None:
        for second in seconds:
            value = b"%d@%d" % (partition, second)
            write(
                broker.bootstrap_servers,
                barnabas_topic,
                [value],
                partition=partition,
                timestamp=HOUR_AGO + 1000 * second,
            )

    return written


Put = Callable[[int, Sequence[int]], None]


def test_partitions_of_different_density_go_together(start: Start, put: Put) -> None:
    put(0, range(30))
    put(1, [5, 25, 1000, 1001])  # and nothing in partition 2
    query = start(maxTimePerTrigger="10s")
    batches = [sorted(batch) for batch in query.drain()]
    assert batches[0] == sorted([b"0@%d" % n for n in range(10)] + [b"1@5"])
    assert batches[1] == sorted(b"0@%d" % n for n in range(10, 20))
    assert batches[2] == sorted([b"0@%d" % n for n in range(20, 30)] + [b"1@25"])
    assert batches[3] == [b"1@1000", b"1@1001"], "a gap is jumped over"
    assert len(batches) == 4
    put(2, [3])  # late, and alone: nothing to wait for
    assert query.drain() == [[b"2@3"]]


def test_limits_hold_beside_it_and_restarts_change_nothing(start: Start, put: Put) -> None:
    put(0, range(24))
    put(1, range(0, 24, 3))
    query = start(maxTimePerTrigger="1h", maxOffsetsPerTrigger="8")
    seen: list[bytes] = []
    while batch := query.trigger():
        times = [int(row.split(b"@")[1]) for row in batch]
        assert len(batch) <= 8
        assert not seen or min(times) > max(int(row.split(b"@")[1]) for row in seen)
        seen += batch
        query.start()  # a new process with the same checkpoint
    assert len(seen) == len(set(seen)) == 32


def test_available_now_stops_where_it_was_asked_to(start: Start, put: Put) -> None:
    put(0, range(0, 20, 2))
    put(1, range(1, 20, 2))
    query = start(maxTimePerTrigger="5s")
    query.stream.stop_at_current_end()
    put(1, [30])
    batches = query.drain()
    assert [sorted(int(row.split(b"@")[1]) for row in batch) for batch in batches] == [
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8, 9],
        [10, 11, 12, 13, 14],
        [15, 16, 17, 18, 19],
    ]


def test_times_that_are_out_of_order_and_partitions_that_come(
    start: Start, put: Put, broker: Broker, barnabas_topic: str
) -> None:
    put(0, [0, 50, 1, 2, 51, 3])
    put(1, [0, 1, 2, 3, 4, 49])
    query = start(maxTimePerTrigger="10s")
    assert sorted(query.trigger()) == [b"0@0", b"1@0", b"1@1", b"1@2", b"1@3", b"1@4"]
    add_partitions(broker.bootstrap_servers, barnabas_topic, 4)
    put(3, [48])
    query.start()  # after a restart the log is read to find out that the next records are old
    assert sorted(query.trigger()) == [b"0@1", b"0@2", b"0@3", b"0@50", b"0@51", b"1@49", b"3@48"]
    assert query.drain() == []


def test_markers_of_transactions_are_no_moments_of_the_log(
    start: Start, put: Put, broker: Broker, barnabas_topic: str
) -> None:
    """Markers have the coordinator's time, which is unrelated to the records around them."""
    put(1, range(0, 30, 3))
    with Cluster(client_settings({"bootstrap.servers": broker.bootstrap_servers})) as cluster:
        transactions = Transactions(cluster)
        writer = TransactionWriter(cluster, transactions, transactions.take_over(barnabas_topic, timeout_ms=10_000))
        for second in range(0, 30, 2):
            record = Record(timestamp=HOUR_AGO + 1000 * second, value=b"0@%d" % second)
            writer.append(barnabas_topic, 0, build_batch([record]))
            writer.commit()
    query = start(maxTimePerTrigger="10s", **{"kafka.isolation.level": "read_committed"})
    batches = [sorted(int(row.split(b"@")[1]) for row in batch) for batch in query.drain()]
    assert [(batch[0], batch[-1]) for batch in batches] == [(0, 9), (10, 18), (20, 28)]
    assert sum(map(len, batches)) == 25


@pytest.mark.parametrize("seed", range(4))
def test_the_first_record_since_a_time_is_found_wherever_it_stands(
    broker: Broker, barnabas_topic: str, seed: int
) -> None:
    """Batches of many records, begun in their middle; times in order, nearly so, or not at all; and markers between."""
    random = Random(seed)
    broker.create_topic(barnabas_topic, partitions=2)
    log: Log = {TopicPartition(barnabas_topic, number): [] for number in range(2)}
    with Cluster(client_settings({"bootstrap.servers": broker.bootstrap_servers})) as cluster:
        transactions = Transactions(cluster)
        writer = TransactionWriter(cluster, transactions, transactions.take_over(barnabas_topic, timeout_ms=10_000))
        for place, records in log.items():
            disorder, at = random.choice([0, 5, 500]), 0
            for index in range(30):
                batch = []
                for number in range(random.randint(1, 20)):
                    at += random.randint(0, 3)
                    batch.append(Record(number, HOUR_AGO + at - random.randint(0, disorder), None, b"x"))
                codec = random.choice([Codec.NONE, Codec.GZIP])
                begin = writer.append(*place, build_batch(batch, codec=codec))
                records += [(begin + record.offset, record.timestamp) for record in batch]
                if index == 29 or random.random() < 0.5:
                    writer.commit()
        times = LogTimes(isolation_level=0)
        for _ in range(60):
            begins = {place: random.randint(0, records[-1][0] + 1) for place, records in log.items()}
            ends = {place: random.randint(begins[place], records[-1][0] + 1) for place, records in log.items()}
            timestamp = HOUR_AGO + random.randint(-510, 1000)
            found = {place: first(records, begins[place], ends[place], timestamp) for place, records in log.items()}
            wanted = {place: each for place, each in found.items() if each is not None}
            assert times.first_since(cluster, timestamp, begins, ends) == wanted
