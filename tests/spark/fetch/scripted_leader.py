"""A broker with one partition and scripted fetch answers, for cases that are too rare with a real one."""

import socket
import struct
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Self

from barnabas.wire.api_table import APIS
from barnabas.wire.codec import decode_request, encode_response, is_flexible
from barnabas.wire.errors import ErrorCode
from barnabas.wire.fetch_response import FetchAnswer, FetchedPartition, FetchedTopic, encode_fetch_response
from barnabas.wire.frame import read_request_header, response_prefix, skip_tagged_fields
from barnabas.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

TOPIC = "scripted"
Step = FetchedPartition | FetchAnswer
_NAMES = {api.key: api for api in APIS}
_SERVED = ("fetch", "metadata", "api_versions", "list_offsets", "describe_configs")


class ScriptedLeader:
    """Fetches get the steps one after the other, the last one again and again."""

    def __init__(self, steps: Sequence[Step], *, ends_at: int, is_tiered: bool = False) -> None:
        self.steps = list(steps)
        self.asked: list[Any] = []
        """The partitions of the fetch requests that came."""
        self._ends_at = ends_at
        self._is_tiered = is_tiered
        self._topic_id = uuid.uuid4()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._connections: list[socket.socket] = []

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._connections:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        answers: dict[str, Callable[[Any], Any]] = {
            "api_versions": self._api_versions,
            "metadata": self._metadata,
            "list_offsets": self._list_offsets,
            "describe_configs": self._describe_configs,
        }
        with connection, connection.makefile("rb") as stream:
            while len(size := stream.read(4)) == 4:
                payload = memoryview(stream.read(struct.unpack(">i", size)[0]))
                key, version, correlation_id, _, end = read_request_header(payload)
                name = _NAMES[key].name
                flexible = is_flexible(name, version)
                request = decode_request(name, version, payload, skip_tagged_fields(payload, end) if flexible else end)
                if name == "fetch":
                    body = b"".join(encode_fetch_response(self._fetch(request), version))
                else:
                    body = encode_response(name, version, answers[name](request))
                tagged = flexible and name != "api_versions"
                connection.sendall(response_prefix(correlation_id, len(body), tagged=tagged) + body)

    def _fetch(self, request: Any) -> FetchAnswer:
        self.asked.append(request.topics[0].partitions[0])
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, FetchAnswer):
            return step
        return FetchAnswer([FetchedTopic(TOPIC, self._topic_id, [step])])

    def _api_versions(self, _: Any) -> ApiVersionsResponse:
        served = (api for api in APIS if api.name in _SERVED)
        keys = tuple(
            ApiVersion(api_key=api.key, min_version=api.version_min, max_version=api.version_max) for api in served
        )
        return ApiVersionsResponse(api_keys=keys)

    def _metadata(self, _: Any) -> MetadataResponse:
        topic = MetadataResponseTopic(
            name=TOPIC, topic_id=self._topic_id, partitions=(MetadataResponsePartition(leader_id=1, leader_epoch=4),)
        )
        brokers = (MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self._port),)
        return MetadataResponse(brokers=brokers, topics=(topic,))

    def _list_offsets(self, request: Any) -> ListOffsetsResponse:
        earliest = request.topics[0].partitions[0].timestamp == -2
        found = ListOffsetsPartitionResponse(offset=0 if earliest else self._ends_at)
        return ListOffsetsResponse(topics=(ListOffsetsTopicResponse(name=TOPIC, partitions=(found,)),))

    def _describe_configs(self, _: Any) -> DescribeConfigsResponse:
        value = "true" if self._is_tiered else "false"
        config = DescribeConfigsResourceResult(name="remote.storage.enable", value=value)
        result = DescribeConfigsResult(
            error_code=ErrorCode.none, resource_type=2, resource_name=TOPIC, configs=(config,)
        )
        return DescribeConfigsResponse(results=(result,))
