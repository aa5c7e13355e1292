"""One shape per API: what is committed is what the generator makes, and every version fits it."""

import pytest
from generator import load_generator

from barnabas.wire.api_table import ADVERTISED_MIN, ALL_APIS
from barnabas.wire.codec import MalformedMessage, decode_request, decode_response, encode_request, encode_response
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic

# Kafka itself does not serve this version yet: two-phase commit, KIP-939.
UNSTABLE = {"init_producer_id": 6}


def test_committed_messages_are_what_the_generator_makes() -> None:
    generator = load_generator()
    sources = generator.generate()
    assert set((generator.WIRE / "messages").glob("*.py")) <= set(sources)
    for path, source in sources.items():
        assert path.read_text() == source, f"{path.name} is stale: run `make messages`"


def test_versions_are_those_of_the_schemas() -> None:
    generator = load_generator()
    for api in ALL_APIS:
        versions = [version for version in generator.versions_of(api.name) if version != UNSTABLE.get(api.name)]
        assert api.version_max == versions[-1], f"{api.name} has a newer version than we serve"
        assert versions[0] <= api.version_min
    assert ADVERTISED_MIN == {0: 0}


def test_a_field_that_a_version_lacks_has_its_default() -> None:
    request = FetchRequest(topics=(FetchTopic(topic="t", partitions=(FetchPartition(partition=3, fetch_offset=7),)),))
    decoded = decode_request("fetch", 4, encode_request("fetch", 4, request), 0)
    assert decoded.topics[0].topic == "t"
    assert decoded.topics[0].topic_id is None
    assert decoded.topics[0].partitions[0].current_leader_epoch == -1
    assert decoded.session_epoch == -1


@pytest.mark.parametrize("kept", [0, 1, 5, -1])
def test_bytes_that_do_not_follow_the_schema_are_refused(kept: int) -> None:
    data = encode_request("fetch", 18, FetchRequest())
    with pytest.raises(MalformedMessage):
        decode_request("fetch", 18, data[:kept], 0)


def test_bytes_behind_a_request_are_ignored_and_behind_a_response_refused() -> None:
    request = encode_request("fetch", 18, FetchRequest(min_bytes=7))
    assert decode_request("fetch", 18, request + b"abc", 0).min_bytes == 7
    response = encode_response("fetch", 18, FetchResponse())
    with pytest.raises(MalformedMessage):
        decode_response("fetch", 18, response + b"abc", 0)
