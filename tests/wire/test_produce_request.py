"""The hand-written Produce decoder agrees with kio, and refuses invalid requests."""

import contextlib
import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.api_table import PRODUCE
from barnabas.wire.codec import decode_request, encode_request
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.produce_request import ProduceCall, produce_request_reader

int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
VERSIONS = range(PRODUCE.version_min, PRODUCE.version_max + 1)
requests = st.builds(
    ProduceRequest,
    transactional_id=st.none() | st.text(max_size=300),
    acks=int16,
    timeout=int32.map(lambda ms: datetime.timedelta(milliseconds=ms)),
    topic_data=st.lists(
        st.builds(
            TopicProduceData,
            name=st.text(max_size=200),
            topic_id=st.none() | st.uuids(),
            partition_data=st.lists(
                st.builds(PartitionProduceData, index=int32, records=st.none() | st.binary(max_size=300)), max_size=3
            ).map(tuple),
        ),
        max_size=3,
    ).map(tuple),
)


def facts(call: ProduceCall) -> object:
    return (
        call.transactional_id,
        call.acks,
        call.timeout_ms,
        [(topic.name, topic.topic_id, [tuple(each) for each in topic.partitions]) for topic in call.topics],
    )


@pytest.mark.parametrize("version", VERSIONS)
@given(request=requests)
def test_it_reads_what_kio_reads(version: int, request: ProduceRequest) -> None:
    data = encode_request("produce", version, request)
    by_kio = decode_request("produce", version, data, 0)
    expected = (
        by_kio.transactional_id,
        by_kio.acks,
        by_kio.timeout // datetime.timedelta(milliseconds=1),
        [
            (topic.name, topic.topic_id, [(each.index, each.records) for each in topic.partition_data])
            for topic in by_kio.topic_data
        ],
    )
    assert facts(produce_request_reader(version)(memoryview(data), 0)) == expected


@pytest.mark.parametrize("version", VERSIONS)
@given(request=requests, data=st.data())
def test_bytes_that_are_none_are_refused_and_nothing_else_happens(
    version: int, request: ProduceRequest, data: st.DataObject
) -> None:
    encoded = bytearray(encode_request("produce", version, request))
    cut = data.draw(st.integers(0, len(encoded)))
    for _ in range(data.draw(st.integers(0, 4))):
        if encoded:
            encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(KafkaError):
        produce_request_reader(version)(memoryview(bytes(encoded[:cut])), 0)


def test_counts_that_the_bytes_do_not_bear_out_are_refused_at_once() -> None:
    lies = b"\x00" + b"\xff\xff\x00\x00\x00\x00" + b"\xff\xff\xff\xff\x07"
    with pytest.raises(KafkaError):
        produce_request_reader(12)(memoryview(lies), 0)
    with pytest.raises(KafkaError):
        produce_request_reader(3)(memoryview(b"\xff\xff\xff\xff\x00\x00\x00\x00\x7f\xff\xff\xff"), 0)
