"""Produce requests written by hand are those of the generated writer, in every version."""

import datetime
import random
import uuid

import pytest

from barnabas.client.producer_request import produce_request
from barnabas.wire.api_table import PRODUCE
from barnabas.wire.codec import encode_request
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

SIZES = [61, 200, 40_000, 90, 70_000, 70_001, 16_383, 16_384]


@pytest.mark.parametrize("version", range(PRODUCE.version_min, PRODUCE.version_max + 1))
@pytest.mark.parametrize("transactional_id", [None, "mine", "x" * 200])
@pytest.mark.parametrize("topics", [1, 3])
def test_bytes_are_those_of_the_generated_writer(version: int, transactional_id: str | None, topics: int) -> None:
    chance = random.Random(version)
    batches = {
        f"topic-{index}" * (index + 1): [
            (partition, memoryview(chance.randbytes(size))) for partition, size in enumerate(SIZES)
        ]
        for index in range(topics)
    }
    ids = {name: uuid.UUID(int=chance.getrandbits(128)) for name in batches}
    expected = ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout=datetime.timedelta(milliseconds=31_000),
        topic_data=tuple(
            TopicProduceData(
                name=name,
                topic_id=ids[name],
                partition_data=tuple(
                    PartitionProduceData(index=index, records=bytes(data)) for index, data in of_topic
                ),
            )
            for name, of_topic in batches.items()
        ),
    )
    pieces = produce_request(
        version, batches, acks=-1, timeout_ms=31_000, transactional_id=transactional_id, topic_ids=ids
    )
    assert b"".join(pieces) == encode_request("produce", version, expected)
    # large batches are not copied, and small pieces do not go out one by one
    large = [piece for piece in pieces if isinstance(piece, memoryview)]
    assert len(large) == 3 * topics
    assert len(pieces) <= 2 * len(large) + 1
