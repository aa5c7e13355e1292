"""Options of a read: defaults, precedence, and errors that name the mistake and the next step."""

import pickle

import pytest

from barnabas.model import TopicPartition
from barnabas.spark.errors import UserError
from barnabas.spark.options.positions import AtOffsets, AtTimestamp, AtTimestamps, Earliest, Latest
from barnabas.spark.options.source import SourceOptions, batch_options, general_options, stream_options
from barnabas.spark.options.subscription import Assign, Subscribe, SubscribePattern

LEAST = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}

ORDERS_0 = TopicPartition("orders", 0)


def batch(**options: str) -> SourceOptions:
    return batch_options(LEAST | {name.replace("__", "."): value for name, value in options.items()})


def stream(**options: str) -> SourceOptions:
    return stream_options(LEAST | {name.replace("__", "."): value for name, value in options.items()})


def test_defaults_are_the_connectors() -> None:
    read = batch()
    assert (read.start, read.end) == (Earliest(), Latest())
    assert stream().start == Latest()
    assert read.subscription == Subscribe(("orders",))
    assert read.fail_on_data_loss is True
    assert read.include_headers is False
    assert read.push_down is False
    assert (read.offset_attempts, read.offset_retry_interval_ms, read.poll_timeout_ms) == (3, 1000, 120_000)
    assert read.max_trigger_delay_ms == 15 * 60 * 1000
    assert read.metadata_cache_ms == 0
    assert read.group_id is None
    assert read.group_id_prefix == "spark-kafka-source"
    assert read.isolation_level == 0
    unset = (read.min_partitions, read.max_records_per_partition, read.columns)
    assert unset == (None, None, None)
    assert (read.max_offsets_per_trigger, read.min_offsets_per_trigger) == (None, None)


def test_names_and_words_know_no_case_and_values_may_have_spaces() -> None:
    read = batch_options(
        {
            "KAFKA.BOOTSTRAP.SERVERS": "localhost:9092",
            "SubScribe": " a, b ,,a ",
            "STARTINGOFFSETS": " EARLIEST ",
            "endingoffsets": "Latest",
            "FAILONDATALOSS": "False",
            "kafka.ISOLATION.level": "READ_COMMITTED",
            "MinPartitions": " 7 ",
        }
    )
    assert read.subscription == Subscribe(("a", "b"))
    assert (read.start, read.end) == (Earliest(), Latest())
    assert read.fail_on_data_loss is False
    assert read.isolation_level == 1
    assert read.min_partitions == 7


def test_the_three_ways_to_say_what_to_read() -> None:
    assign = {"kafka.bootstrap.servers": "x:1", "assign": '{"b": [2, 0, 2], "a": [1]}'}
    assert batch_options(assign).subscription == Assign(
        (TopicPartition("a", 1), TopicPartition("b", 0), TopicPartition("b", 2))
    )
    pattern = {"kafka.bootstrap.servers": "x:1", "subscribePattern": " ord.* "}
    assert batch_options(pattern).subscription == SubscribePattern("ord.*")


def test_one_timestamp_for_all_goes_before_one_for_each_goes_before_offsets() -> None:
    offsets = {"startingOffsets": '{"orders": {"0": 5}}'}
    for_each = {"startingOffsetsByTimestamp": '{"orders": {"0": 1000}}'}
    for_all = {"startingTimestamp": "2000"}
    assert batch(**offsets).start == AtOffsets({ORDERS_0: 5}, "startingOffsets")
    assert batch(**offsets, **for_each).start == AtTimestamps({ORDERS_0: 1000}, "startingOffsetsByTimestamp")
    assert batch(**offsets, **for_each, **for_all).start == AtTimestamp(2000, "startingTimestamp")
    ending = {"endingOffsets": '{"orders": {"0": -1}}', "endingTimestamp": "3000"}
    assert batch(**ending).end == AtTimestamp(3000, "endingTimestamp")


def test_a_timestamp_makes_the_offsets_beside_it_unimportant() -> None:
    assert batch(startingTimestamp="1", startingOffsets="latest").start == AtTimestamp(1, "startingTimestamp")


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [("500", 500), ("500ms", 500), ("30s", 30_000), ("15M", 900_000), ("2h", 7_200_000), ("1 d", 86_400_000)],
)
def test_delays_have_units(value: str, milliseconds: int) -> None:
    assert stream(maxTriggerDelay=value).max_trigger_delay_ms == milliseconds


def test_numbers_are_taken() -> None:
    read = stream(
        maxOffsetsPerTrigger="1000",
        minOffsetsPerTrigger="10",
        minPartitions="4",
        maxRecordsPerPartition="50",
        fetchOffset__numRetries="5",
        fetchOffset__retryIntervalMs="20",
        kafkaConsumer__pollTimeoutMs="700",
        columns="value, key",
        kafka__group__id="billing",
        partition__metadata__cache__ttl__ms="300",
        startingOffsetsByTimestampStrategy="LATEST",
    )
    assert (read.max_offsets_per_trigger, read.min_offsets_per_trigger) == (1000, 10)
    assert (read.min_partitions, read.max_records_per_partition) == (4, 50)
    assert (read.offset_attempts, read.offset_retry_interval_ms, read.poll_timeout_ms) == (5, 20, 700)
    assert (read.columns, read.group_id, read.metadata_cache_ms) == (("value", "key"), "billing", 300)
    assert read.latest_if_no_timestamp is True


def test_limits_of_a_stream_are_let_through_in_a_batch(caplog: pytest.LogCaptureFixture) -> None:
    batch(maxOffsetsPerTrigger="5", minOffsetsPerTrigger="1", maxTriggerDelay="1s")
    assert caplog.text.count("has no effect in a batch read") == 3


def test_options_can_be_pickled() -> None:
    read = batch(startingOffsets='{"orders": {"0": 5}}')
    assert pickle.loads(pickle.dumps(read)) == read


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"subscribePattern": "x"}, "subscribe and subscribePattern are both set", "keep one"),
        ({"assign": '{"a": [0]}'}, "subscribe and assign are both set", "keep one"),
        ({"subscribe": " , "}, "names no topic", "subscribe"),
        ({"startingOffsets": "latest"}, "cannot start at the latest", "earliest"),
        ({"startingOffsets": "yesterday"}, "'yesterday'", "startingTimestamp"),
        (
            {"startingOffsets": '{"orders": {"0": -1}}'},
            "latest offset (-1), as startingOffsets says for orders-0",
            "-2",
        ),
        ({"startingOffsets": '{"orders": {"0": -3}}'}, "offset -3 for orders-0", "-1 for the latest"),
        ({"startingOffsets": '{"orders": [0]}'}, "startingOffsets has the wrong format", '{"topicA"'),
        ({"startingOffsets": '{"orders": {"0": "x"}}'}, "has the wrong format", '{"topicA"'),
        ({"startingOffsets": '{"orders": {"0": 1'}, "has the wrong format", '{"topicA"'),
        ({"endingOffsets": "earliest"}, "cannot end at the earliest", "endingTimestamp"),
        ({"endingOffsets": '{"orders": {"0": -2}}'}, "earliest offset (-2)", "-1"),
        (
            {"startingOffsets": '{"orders": {"0": 9}}', "endingOffsets": '{"orders": {"0": 3}}'},
            "startingOffsets is 9 for orders-0, which is after its endingOffsets, 3",
            "swap them",
        ),
        (
            {"startingOffsets": '{"orders": {"0": 9}}', "endingOffsets": '{"orders": {"1": 30}}'},
            "orders-0, orders-1 are in only one",
            "the same partitions",
        ),
        (
            {"startingOffsetsByTimestamp": '{"orders": {"0": 9}}', "endingOffsetsByTimestamp": '{"orders": {"0": 3}}'},
            "is 9 for orders-0",
            "swap them",
        ),
        ({"startingTimestamp": "2026-01-01"}, "'2026-01-01'", "milliseconds since 1970"),
        ({"startingTimestamp": "-1"}, "'-1'", "milliseconds since 1970"),
        ({"startingOffsetsByTimestamp": '{"orders": {"0": -1}}'}, "time -1 for orders-0", "milliseconds"),
        ({"startingOffsetsByTimestampStrategy": "earliest"}, "'earliest'", "error"),
        ({"failOnDataLoss": "maybe"}, "'maybe'", "true or false"),
        ({"minPartitions": "0"}, "minPartitions is '0'", "whole number from 1"),
        ({"minPartitions": "99999999999"}, "minPartitions", "2147483647"),
        ({"maxRecordsPerPartition": "-5"}, "maxRecordsPerPartition", "at least 1"),
        ({"maxOffsetsPerTrigger": "1e3"}, "maxOffsetsPerTrigger is '1e3'", "whole number"),
        ({"maxTriggerDelay": "soon"}, "maxTriggerDelay is 'soon'", "10min"),
        ({"minOffsetsPerTrigger": "11", "maxOffsetsPerTrigger": "10"}, "is 11, which is more than", "lower min"),
        ({"kafka.auto.offset.reset": "earliest"}, "kafka.auto.offset.reset is not supported", "startingOffsets"),
        ({"kafka.enable.auto.commit": "true"}, "kafka.enable.auto.commit is not supported", "kafka.group.id"),
        ({"kafka.key.deserializer": "x"}, "kafka.key.deserializer is not supported", "CAST(value AS STRING)"),
        ({"kafka.value.deserializer": "x"}, "kafka.value.deserializer is not supported", "CAST"),
        ({"kafka.interceptor.classes": "x"}, "kafka.interceptor.classes is not supported", "remove"),
        ({"kafka.isolation.level": "serializable"}, "'serializable'", "read_committed"),
        ({"kafka.bootstrap.servers": " "}, "kafka.bootstrap.servers is missing", "localhost:9092"),
        ({"columns": " ,"}, "names no column", "key,value"),
    ],
)
def test_refusals_in_a_batch(options: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(UserError) as refusal:
        batch_options(LEAST | options)
    assert message in refusal.value.message
    assert hint in refusal.value.hint


@pytest.mark.parametrize("name", ["endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    with pytest.raises(UserError, match="availableNow") as refusal:
        stream(**{name: "latest"})
    assert name in refusal.value.message


def test_a_stream_may_start_at_the_latest_offset_of_a_partition() -> None:
    assert stream(startingOffsets='{"orders": {"0": -1}}').start == AtOffsets({ORDERS_0: -1}, "startingOffsets")


def test_nothing_to_read_is_refused() -> None:
    with pytest.raises(UserError, match="subscribe, subscribePattern and assign"):
        general_options({"kafka.bootstrap.servers": "x:1"})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("startingOffset", "startingOffsets"),
        ("startingoffests", "startingOffsets"),
        ("failOnDataLost", "failOnDataLoss"),
        ("maxOffsetPerTrigger", "maxOffsetsPerTrigger"),
        ("bootstrap.servers", "kafka.bootstrap.servers"),
        ("kafka.bootstrap.server", "kafka.bootstrap.servers"),
        ("kafka.sasl.mecanism", "kafka.sasl.mechanism"),
        ("kafka.security.protocl", "kafka.security.protocol"),
        ("includeHeader", "includeHeaders"),
    ],
)
def test_a_misspelt_name_is_named_with_the_right_one(name: str, meant: str) -> None:
    with pytest.raises(UserError) as refusal:
        batch_options(LEAST | {name: "1"})
    assert name in refusal.value.message
    assert refusal.value.hint == f"did you mean {meant}?"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("topic", "subscribe"),
        ("exactlyOnce", "remove it"),
        ("path", "load() without an argument"),
        ("client.rack", "kafka.client.rack"),
        ("colour", "startingOffsets"),
    ],
)
def test_names_that_belong_elsewhere_are_refused(name: str, hint: str) -> None:
    with pytest.raises(UserError) as refusal:
        batch_options(LEAST | {name: "orders"})
    assert hint in refusal.value.hint


def test_properties_of_other_clients_are_let_through_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    read = batch(kafka__our__own__thing="1", kafka__fetch__max__bytes="5")
    assert read.properties["our.own.thing"] == "1"
    assert "kafka.our.own.thing is not known" in caplog.text
    assert "fetch.max.bytes" not in caplog.text


def test_what_spark_itself_adds_is_let_through() -> None:
    stream(checkpointLocation="/tmp/x", queryName="q")


def test_a_property_that_the_client_cannot_use_is_told_by_its_option() -> None:
    with pytest.raises(UserError, match=r"kafka\.bootstrap\.servers"):
        batch(kafka__bootstrap__servers="localhost:many").client()
