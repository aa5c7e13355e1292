"""Offsets as Spark keeps them: equal offsets are equal text, and nothing is lost on the way."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model import TopicPartition
from barnabas.spark.errors import UserError
from barnabas.spark.source.offsets import StreamOffsets, as_json, by_pair, parse

names = st.text("abz09._-", min_size=1, max_size=5)
places = st.dictionaries(st.builds(TopicPartition, names, st.integers(0, 12)), st.integers(0, 2**62), max_size=20)


def as_text(offsets: StreamOffsets) -> str:
    return json.dumps(offsets.as_json())


@given(partitions=places, first=places, seed=st.randoms(), has_start=st.booleans())
def test_offsets_survive_spark_and_their_text_does_not_depend_on_order(
    partitions: dict[TopicPartition, int], first: dict[TopicPartition, int], seed: "object", has_start: bool
) -> None:
    ids = {place.topic: f"id-{place.topic}" for place in partitions}
    offsets = StreamOffsets(partitions, ids, StreamOffsets(first) if has_start else None)
    again = parse(json.loads(as_text(offsets)))
    assert again == offsets
    shuffled = list(partitions.items())
    seed.shuffle(shuffled)  # type: ignore[attr-defined]
    assert as_text(StreamOffsets(dict(shuffled), ids, offsets.start)) == as_text(again)


def test_partitions_are_sorted_by_number() -> None:
    partitions = {TopicPartition("b", 10): 1, TopicPartition("b", 9): 2, TopicPartition("a", 0): 3}
    assert json.dumps(as_json(partitions)) == '{"a": {"0": 3}, "b": {"9": 2, "10": 1}}'
    assert by_pair(partitions) == {("b", 10): 1, ("b", 9): 2, ("a", 0): 3}


def test_offsets_of_the_jvm_connector_are_read() -> None:
    offsets = parse({"orders": {"1": 7, "0": 42}})
    assert offsets == StreamOffsets({TopicPartition("orders", 0): 42, TopicPartition("orders", 1): 7})


def test_a_topic_is_known_as_remade_only_where_both_ids_are_known() -> None:
    offsets = StreamOffsets({}, {"a": "1", "b": "1"})
    assert offsets.is_another_topic("a", {"a": "2"})
    assert not offsets.is_another_topic("b", {"b": "1"})
    assert not offsets.is_another_topic("b", {})
    assert not offsets.is_another_topic("c", {"c": "1"})


@pytest.mark.parametrize("strange", [{"logOffset": 5}, {"orders": {"x": 1}}, {"orders": {"0": None}}])
def test_offsets_of_another_source_are_refused(strange: dict[str, object]) -> None:
    with pytest.raises(UserError, match="checkpoint"):
        parse(strange)
