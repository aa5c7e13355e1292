"""The hand-written encoder of topics writes the same bytes as kio, for every version."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.wire.api_table import BY_KEY
from barnabas.wire.codec import encode_response
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.metadata_response import (
    MetadataAnswer,
    TopicPartitionFacts,
    encode_metadata_response,
    encode_partition,
    encode_topic,
)

METADATA = BY_KEY[3]
int32 = st.integers(-(2**31), 2**31 - 1)
names = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=249)
node_ids = st.lists(int32, max_size=4).map(tuple)
partitions = st.builds(
    MetadataResponsePartition,
    error_code=st.sampled_from(list(ErrorCode)),
    partition_index=int32,
    leader_id=int32,
    leader_epoch=int32,
    replica_nodes=node_ids,
    isr_nodes=node_ids,
    offline_replicas=node_ids,
)
topics = st.builds(
    MetadataResponseTopic,
    error_code=st.sampled_from(list(ErrorCode)),
    name=names,
    topic_id=st.none() | st.uuids(),
    is_internal=st.booleans(),
    partitions=st.lists(partitions, max_size=3).map(tuple),
    topic_authorized_operations=int32,
)


def by_hand(topic: MetadataResponseTopic, version: int) -> bytes:
    return encode_topic(
        version,
        error_code=int(topic.error_code),
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            encode_partition(
                version,
                TopicPartitionFacts(
                    int(partition.error_code),
                    partition.partition_index,
                    partition.leader_id,
                    partition.leader_epoch,
                    partition.replica_nodes,
                    partition.isr_nodes,
                    partition.offline_replicas,
                ),
            )
            for partition in topic.partitions
        ],
        operations=topic.topic_authorized_operations,
    )


@pytest.mark.parametrize("version", range(METADATA.version_min, METADATA.version_max + 1))
@given(topics=st.lists(topics, max_size=200), cluster_id=st.none() | names, operations=int32)
def test_metadata_response_equals_kio(
    version: int, topics: list[MetadataResponseTopic], cluster_id: str | None, operations: int
) -> None:
    frame = MetadataResponse(
        brokers=(MetadataResponseBroker(node_id=1, host="h", port=9092, rack="r"),),
        cluster_id=cluster_id,
        controller_id=1,
        cluster_authorized_operations=operations,
    )
    answer = MetadataAnswer(frame, [by_hand(topic, version) for topic in topics])
    expected = encode_response("metadata", version, frame.replace(topics=tuple(topics)))
    assert b"".join(encode_metadata_response(answer, version)) == expected
