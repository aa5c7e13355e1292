"""The blocking client: every version, pipelining, and a broker that disconnects."""

import pytest

from barnabas.testing import Broker
from barnabas.testing.client import ConnectionClosed, request_header
from barnabas.wire.api_table import API_VERSIONS, BY_KEY
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.metadata import MetadataRequest

TELEMETRY = {71, 72}
"""Advertised only while there is a client metrics subscription."""

HELLO = ApiVersionsRequest(client_software_name="test", client_software_version="1")


def test_every_version_of_two_apis(barnabas_broker: Broker) -> None:
    with barnabas_broker.connect() as client:
        for version in range(API_VERSIONS.version_min, API_VERSIONS.version_max + 1):
            keys = {api.api_key for api in client.call("api_versions", version, HELLO).api_keys}
            assert keys == BY_KEY.keys() - TELEMETRY
        for version in range(BY_KEY[3].version_min, BY_KEY[3].version_max + 1):
            (broker,) = client.call("metadata", version, MetadataRequest(topics=())).brokers
            assert broker.port == barnabas_broker.port


def test_pipelined_requests_are_answered_in_order(barnabas_broker: Broker) -> None:
    with barnabas_broker.connect(client_id=None) as client:
        for version in (0, 3, 1, 4):
            client.send("api_versions", version, HELLO)
            client.send("metadata", 9, MetadataRequest(topics=()))
        for _ in range(4):
            assert client.receive().api_keys
            assert client.receive().brokers


def test_a_frame_that_is_no_request_ends_the_connection(barnabas_broker: Broker) -> None:
    with barnabas_broker.connect() as client:
        client.send_frame(b"\x00")
        with pytest.raises(ConnectionClosed):
            client.receive_frame()


def test_headers_are_kafkas() -> None:
    assert request_header("metadata", 0, 5, "me") == b"\x00\x03\x00\x00\x00\x00\x00\x05\x00\x02me"
    assert request_header("metadata", 9, 5, None) == b"\x00\x03\x00\x09\x00\x00\x00\x05\xff\xff\x00"
