"""Requests as bytes, encoded once and sent many times, and the positions of the fields to check in the answers.

Versions are the newest with topic names: Produce 12 and Fetch 12, served by Barnabas and by Apache Kafka.
"""

import struct
import time
from datetime import timedelta

from barnabas.records.record import Record, build_batch
from barnabas.testing.client import request_header
from barnabas.wire.codec import encode_request
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

CLIENT_ID = "bench"
PRODUCE_VERSION = 12
FETCH_VERSION = 12
_MARK = 0x0102030405060708  # no other field of a request has this value


def batch_of(count: int, value_size: int) -> bytes:
    """Records without keys; the values are not easy to compress."""
    now_ms = time.time_ns() // 1_000_000
    value = bytes((index * 31 + 7) % 251 for index in range(value_size))
    return build_batch([Record(timestamp=now_ms, value=value)] * count)


def keyed_batch(first_key: int, count: int, value_size: int) -> bytes:
    now_ms = time.time_ns() // 1_000_000
    value = bytes(value_size)
    return build_batch([Record(timestamp=now_ms, key=b"%d" % (first_key + i), value=value) for i in range(count)])


def produce_frame(topic: str, partition: int, batch: bytes) -> bytes:
    """acks=all."""
    data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=partition, records=batch),))
    request = ProduceRequest(acks=-1, timeout=timedelta(seconds=30), topic_data=(data,))
    return framed("produce", PRODUCE_VERSION, request)


def produce_error_position(topic: str) -> int:
    """The position of the error code (two bytes) in the answer to `produce_frame`."""
    # size, correlation id, tags, one topic, its name, one partition, its index
    return 4 + 4 + 1 + 1 + 1 + len(topic.encode()) + 1 + 4


class FetchFrame:
    """A Fetch of one partition whose offset can be set in place."""

    def __init__(self, topic: str, partition: int, *, max_bytes: int, max_wait_ms: int = 0, min_bytes: int = 1) -> None:
        wanted = FetchPartition(partition=partition, fetch_offset=_MARK, partition_max_bytes=max_bytes)
        request = FetchRequest(
            max_wait=timedelta(milliseconds=max_wait_ms),
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            session_epoch=-1,
            topics=(FetchTopic(topic=topic, partitions=(wanted,)),),
        )
        self._frame = bytearray(framed("fetch", FETCH_VERSION, request))
        self._offset_position = self._frame.index(struct.pack(">q", _MARK))

    def at(self, offset: int) -> bytearray:
        struct.pack_into(">q", self._frame, self._offset_position, offset)
        return self._frame


def fetch_error_position(topic: str) -> int:
    """The position of the partition's error code in the answer to a `FetchFrame`; offsets and the size follow it."""
    # size, correlation id, tags, throttle time, error, session, one topic, its name, one partition, its index
    return 4 + 4 + 1 + 4 + 2 + 4 + 1 + 1 + len(topic.encode()) + 1 + 4


def fetch_records_size_position(topic: str) -> int:
    """The position of the unsigned varint with the size of the records, plus one."""
    # error, high watermark, last stable offset, log start, no aborted transactions, preferred replica
    return fetch_error_position(topic) + 2 + 8 + 8 + 8 + 1 + 4


def api_versions_frame() -> bytes:
    request = ApiVersionsRequest(client_software_name="bench", client_software_version="1")
    return framed("api_versions", 3, request)


def all_topics_frame() -> bytes:
    return framed("metadata", 12, MetadataRequest(topics=None))


def framed(api_name: str, version: int, request: object, client_id: str = CLIENT_ID) -> bytes:
    payload = request_header(api_name, version, 0, client_id) + encode_request(api_name, version, request)
    return struct.pack(">i", len(payload)) + payload
