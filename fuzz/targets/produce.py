"""Produce requests that are known by sight: what is taken from their bytes is what the codec reads."""

import random
import uuid
from typing import Final

from barnabas.testing.client import request_header
from barnabas.wire.api_table import PRODUCE, PRODUCE_FLEXIBLE_SINCE
from barnabas.wire.codec import encode, request_reader
from barnabas.wire.frame import read_request_header, skip_tagged_fields
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.produce_preamble import find_preamble, read_preamble
from fuzz.target import Target

_HEADER_BYTES: Final = 10
"""Shorter frames are refused before."""
_NO_ID: Final = uuid.UUID(int=0)


def _frames(rng: random.Random) -> list[bytes]:
    frames = []
    for version in range(PRODUCE.version_min, PRODUCE.version_max + 1):
        for client_id in (None, "", "client", "grüße"):
            partition = PartitionProduceData(index=rng.randrange(9), records=rng.randbytes(rng.choice((0, 70, 300))))
            topic = TopicProduceData(
                name=rng.choice(("t", "topic", "grüße", "x" * 249)),
                topic_id=uuid.UUID(int=rng.getrandbits(128)),
                partition_data=(partition,),
            )
            request = ProduceRequest(acks=rng.choice((-1, 0, 1)), topic_data=(topic,))
            header = request_header(PRODUCE.name, version, rng.getrandbits(31), client_id)
            frames.append(header + encode(request, version))
    return frames


def _read_preamble(data: bytes) -> None:
    if len(data) < _HEADER_BYTES:
        return
    found = find_preamble(bytearray(data), 0, len(data))
    if found is None:
        return
    version, correlation_id, head, start, end = found
    preamble = read_preamble(version, head)
    if preamble is None:
        return
    _, _, expected_id, _, header_end = read_request_header(memoryview(data))
    is_flexible = version >= PRODUCE_FLEXIBLE_SINCE
    body = skip_tagged_fields(memoryview(data), header_end) if is_flexible else header_end
    request = request_reader(PRODUCE.name, version)(memoryview(data), body)
    (topic,) = request.topic_data
    (partition,) = topic.partition_data
    expected = (expected_id, request.acks, topic.name, topic.topic_id or _NO_ID, partition.index, partition.records)
    known = (preamble.acks, preamble.name or "", preamble.topic_id or _NO_ID, preamble.partition)
    if request.transactional_id is not None or (correlation_id, *known, data[start:end]) != expected:
        raise AssertionError(f"{preamble} is {request} for the codec")


TARGETS: Final = (Target("produce_preambles", _frames, _read_preamble),)
