"""The benchmark of requests: each kind gets an answer without errors, and answers with errors are noticed."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from bench.__main__ import main
from bench.admin import make_topic, topic_id_of
from bench.benchmarks.requests import measures
from bench.frames import framed, produce_error_position
from bench.load.answers import api_key, expect_success
from bench.load.exchanges import FetchSession, Repeated
from bench.load.null_server import null_server
from bench.load.turns import Connections
from bench.request_kinds import KINDS, fetch, quota
from bench.request_kinds.kind import CONNECTIONS, RequestKind
from bench.request_kinds.topics import make_topics
from bench.sockets import Refused, connect, round_trip
from bench.stage import matches

from barnabas.testing import Broker
from barnabas.wire.codec import encode_response
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic

FETCH_KEY = 1
RECORD = bytes((index * 31 + 7) % 251 for index in range(100))


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with Broker() as broker:
        make_topics(broker.port)
        yield broker.port


def answers_to(kind: RequestKind, port: int) -> dict[int, bytes]:
    connections = Connections(port, kind.exchanges(port, 1))
    try:
        return connections.sample_answers()
    finally:
        connections.close()


@pytest.mark.parametrize("kind", KINDS, ids=[kind.title for kind in KINDS])
def test_each_kind_is_answered_without_an_error(kind: RequestKind, port: int) -> None:
    answers = answers_to(kind, port)
    if kind.title == "Fetch 12 of 1 MB, 16 KB batches":
        assert 950_000 < len(answers[FETCH_KEY]) < 1 << 20
    elif kind in fetch.KINDS or kind in quota.KINDS:
        assert (RECORD in answers.get(FETCH_KEY, b"")) == ("one small" in kind.title or "one changed" in kind.title)


def test_an_error_within_an_answer_is_noticed(port: int) -> None:
    topic = FetchTopic(topic="no-such-topic", partitions=(FetchPartition(partition=0, partition_max_bytes=1),))
    frame = framed("fetch", 12, FetchRequest(topics=(topic,)))
    with connect(port) as connection, pytest.raises(Refused, match="unknown_topic_or_partition"):
        expect_success(frame, bytes(round_trip(connection, frame)))


def test_a_throttled_answer_is_noticed() -> None:
    frame = framed("fetch", 12, FetchRequest())
    body = encode_response("fetch", 12, FetchResponse(throttle_time=timedelta(milliseconds=1)))
    with pytest.raises(Refused, match="throttled"):
        expect_success(frame, bytes(4 + 4 + 1) + body)


def test_a_session_without_the_records_it_asked_for_is_noticed(port: int) -> None:
    make_topic(port, "session", 3)
    session = FetchSession(topic_id_of(port, "session"), 3, changed=1)
    with connect(port) as connection:
        session.begin(connection)
        answer = bytes(round_trip(connection, session.frame))
    with pytest.raises(Refused, match="0 topics"):
        session.answered(answer)


def test_turns_count_the_answers_of_the_connections_they_use(port: int) -> None:
    kind = KINDS[0]
    ((key, answer),) = answers_to(kind, port).items()
    frame = bytes(kind.exchanges(port, 1)[0].frame)
    assert api_key(frame) == key
    with null_server({key: answer}) as null_port:
        exchanges = [Repeated(frame) for _ in range(3)]
        connections = Connections(null_port, exchanges)
        turns = [connections.turn(2, 0.01) for _ in range(2)]
        connections.close()
    assert [exchange.completed > 0 for exchange in exchanges] == [True, True, False]
    assert sum(turn.completed for turn in turns) == sum(exchange.completed for exchange in exchanges)
    assert all(turn.generator_per_s > 0 for turn in turns)


def test_a_turn_ends_with_an_error_if_the_last_answers_have_one(port: int) -> None:
    kind = KINDS[0]
    ((key, answer),) = answers_to(kind, port).items()
    place = produce_error_position("requests")
    refused = answer[:place] + b"\0\1" + answer[place + 2 :]
    with null_server({key: refused}) as null_port:
        connections = Connections(null_port, kind.exchanges(port, 1))
        with pytest.raises(Refused, match="produce 12 was answered with offset_out_of_range"):
            connections.turn(1, 0.01)
        connections.close()


def test_targets_are_of_rates_and_of_cpu_at_few_connections() -> None:
    few, many = CONNECTIONS
    by_title = {kind.title: kind for kind in KINDS}
    targets = {
        title: [measure.target for connections in (few, many) for measure in measures(by_title[title], connections)]
        for title in ("Heartbeat 4", "OffsetCommit 9 of 100", "ApiVersions 4")
    }
    assert targets == {
        "Heartbeat 4": [1.0, 1.0, 0.8, None],
        "OffsetCommit 9 of 100": [0.5, None, 0.4, None],
        "ApiVersions 4": [None] * 4,
    }


def test_kinds_are_chosen_by_patterns(capsys: pytest.CaptureFixture[str]) -> None:
    assert matches("Produce 12, one plain batch", ["fetch*", "produce 12*"])
    assert not matches("Produce 12, one plain batch", ["produce"])
    with pytest.raises(SystemExit):
        main(["requests", "--kind", "no such kind"])
    assert "  Heartbeat 4\n" in capsys.readouterr().err
