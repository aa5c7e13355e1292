"""Malformed answers raise the declared error, never another one."""

import contextlib
import socket

from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.connection import Connection
from barnabas.client.errors import BadAnswer
from barnabas.wire.api_table import APIS
from barnabas.wire.codec import encode_response
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

USED = {
    "add_partitions_to_txn",
    "api_versions",
    "describe_cluster",
    "end_txn",
    "fetch",
    "find_coordinator",
    "init_producer_id",
    "list_offsets",
    "list_transactions",
    "metadata",
    "offset_commit",
    "offset_fetch",
    "produce",
    "sasl_authenticate",
    "sasl_handshake",
    "txn_offset_commit",
}
VERSIONS = [(api.name, version) for api in APIS if api.name in USED for version in (api.version_min, api.version_max)]

PARTITION = MetadataResponsePartition(partition_index=0, leader_id=1, replica_nodes=(1, 2), isr_nodes=(1,))
METADATA = encode_response(
    "metadata",
    12,
    MetadataResponse(
        brokers=(MetadataResponseBroker(node_id=1, host="127.0.0.1", port=9092, rack="r"),),
        cluster_id="a-cluster",
        topics=(MetadataResponseTopic(error_code=ErrorCode.none, name="t", partitions=(PARTITION,)),),
    ),
)


def decode(api_name: str, version: int, body: bytes) -> None:
    left, right = socket.socketpair()
    with left, right:
        connection = Connection(left, "somewhere:9092")
        with contextlib.suppress(BadAnswer):
            connection.decode(api_name, version, memoryview(body))
            return
        assert connection.broken


@given(asked=st.sampled_from(VERSIONS), body=st.binary(max_size=200))
def test_noise(asked: tuple[str, int], body: bytes) -> None:
    decode(*asked, body)


@given(position=st.integers(0, len(METADATA) - 1), byte=st.integers(0, 255), end=st.integers(0, len(METADATA)))
def test_an_answer_with_one_wrong_byte_or_cut_short(position: int, byte: int, end: int) -> None:
    broken = bytearray(METADATA)
    broken[position] = byte
    decode("metadata", 12, bytes(broken))
    decode("metadata", 12, METADATA[:end])


@given(frame=st.binary(max_size=64))
def test_a_frame_of_noise(frame: bytes) -> None:
    left, right = socket.socketpair()
    with left, right:
        connection = Connection(left, "somewhere:9092")
        connection.send_encoded("metadata", 12, b"")
        right.sendall(len(frame).to_bytes(4, "big") + frame)
        with contextlib.suppress(BadAnswer):
            connection.receive()
