"""Dead letters are listed, and replayed to their source topics exactly once, whatever fails on the way."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from barnabas.cli.pipeline import app
from barnabas.client.cluster import Cluster
from barnabas.client.group_offsets import fetch_offsets
from barnabas.pipeline.dead_letters import sending
from barnabas.pipeline.dead_letters.listing import overview_of
from barnabas.pipeline.dead_letters.positions import group_of
from barnabas.pipeline.dead_letters.sending import STEPS, Outcome, replay
from barnabas.pipeline.flow import dead_letter_headers as names
from barnabas.records.record import Header
from barnabas.spark.errors import UserError
from barnabas.testing import Broker
from barnabas.testing.letter_world import LetterWorld, letter, renumbered

NOW_MS = int(time.time() * 1000)


class Crash(BaseException):
    """A crash: no cleanup code runs."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def world(broker: Broker, barnabas_topic: str, tmp_path: Path) -> LetterWorld:
    broker.create_topic(barnabas_topic, partitions=2)
    broker.create_topic(f"{barnabas_topic}.dead", partitions=2)
    return LetterWorld(broker.bootstrap_servers, barnabas_topic, tmp_path)


def send(world: LetterWorld, *, origin: str | None = None, version: str = "v1", **more: object) -> Outcome:
    return replay(world.project, origin=origin, version=version, dry_run=False, **more)  # type: ignore[arg-type]


def fill(world: LetterWorld) -> None:
    """Three that can go back, and one each that cannot: aborted, of a flow, of another version."""
    topic = world.topic
    own = [Header("trace", b"7"), Header("trace", None)]
    world.write_letters(
        renumbered(
            [
                letter(10, topic=topic, timestamp_ms=NOW_MS - 5, own=own),
                letter(11, topic=topic, timestamp_ms=NOW_MS, partition=1, rule="positive"),
                letter(12, topic=topic, timestamp_ms=NOW_MS, origin="counts", rule="small"),
                letter(13, topic=topic, timestamp_ms=NOW_MS, version="v2"),
            ]
        )
    )
    world.write_letters([letter(14, topic=topic, timestamp_ms=NOW_MS)], commit=False)
    world.write_letters([letter(15, topic=topic, timestamp_ms=NOW_MS, origin="other")], partition=1)


def test_they_are_listed_with_what_is_wrong(world: LetterWorld) -> None:
    fill(world)
    found = overview_of(world.project, origin=None, limit=3)
    assert found.total == 5
    assert [int(each.value or b"") for each in found.newest] == [12, 13, 15]
    assert [(each.origin, each.version, each.rule, each.count, each.waiting) for each in found.reasons] == [
        ("counts", "v1", "small", 1, 1),
        ("orders", "v1", None, 1, 1),
        ("orders", "v1", "positive", 1, 1),
        ("orders", "v2", None, 1, 1),
        ("other", "v1", None, 1, 1),
    ]
    assert overview_of(world.project, origin="other", limit=9).total == 1
    with pytest.raises(UserError, match="no source or flow `ordres`"):
        overview_of(world.project, origin="ordres", limit=9)


def test_they_go_back_as_they_were_and_only_once(world: LetterWorld) -> None:
    fill(world)
    dry = replay(world.project, origin=None, version="v1", dry_run=True)
    assert dry.sent == {"orders": 2, "other": 1}
    assert world.sent() == []
    outcome = send(world, origin="orders")
    assert (outcome.sent, outcome.left, outcome.behind) == ({"orders": 2}, {}, {})
    first, second = world.sent()
    whom = (
        Header(names.ATTEMPT, b"1"),
        Header(names.PIPELINE, b"orders"),
        Header(names.VERSION, b"v1"),
        Header(names.FLOW, b"orders"),
    )
    assert (first.key, first.value, first.timestamp) == (b"key", b"10", NOW_MS - 5)
    assert first.headers == (Header("trace", b"7"), Header("trace", None), *whom)
    assert (second.value, second.timestamp, second.headers) == (b"11", NOW_MS, whom)
    outcome = send(world)
    assert (outcome.sent, outcome.left) == ({"other": 1}, {"counts": 1})
    assert send(world).sent == {}
    assert send(world, version="v2").sent == {"orders": 1}
    assert Counter(record.value for record in world.sent()) == Counter([b"10", b"11", b"15", b"13"])
    waiting = {
        (each.origin, each.version): each.waiting for each in overview_of(world.project, origin=None, limit=1).reasons
    }
    assert waiting == {("counts", "v1"): 1, ("orders", "v1"): 0, ("orders", "v2"): 0, ("other", "v1"): 0}
    with Cluster(world.settings) as cluster:
        group = group_of("orders", "v1", "orders")
        assert fetch_offsets(cluster, group, None)[f"{world.topic}.dead", 0].offset == 2


def test_one_that_dies_again_counts_its_attempts(world: LetterWorld) -> None:
    again = [Header(names.ATTEMPT, b"1"), Header(names.VERSION, b"v1"), Header(names.FLOW, b"orders")]
    world.write_letters([letter(10, topic=world.topic, timestamp_ms=NOW_MS, own=again)])
    send(world)
    assert dict(world.sent()[0].headers)[names.ATTEMPT] == b"2"
    assert len(world.sent()[0].headers) == 4


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_each_is_sent_once(world: LetterWorld, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process gets a little further than the one before, and dies; uncommitted records stay invisible."""
    monkeypatch.setattr(sending, "LETTERS_MAX", 2)
    wanted = list(range(7))
    for partition in 0, 1:
        numbers = wanted[partition::2]
        world.write_letters(
            renumbered([letter(n, topic=world.topic, timestamp_ms=NOW_MS, partition=n % 2) for n in numbers]),
            partition=partition,
        )
    for occurrence in (1,) if step in (sending.TOOK_OVER, sending.LOOKED) else (1, 2):
        with pytest.raises(Crash):
            send(world, hook=crash_at(step, occurrence))
    send(world)
    assert sorted(int(record.value or b"") for record in world.sent()) == wanted
    assert send(world).sent == {}


def crash_at(step: str, occurrence: int) -> Callable[[str], None]:
    left = [occurrence]

    def hook(passed: str) -> None:
        left[0] -= passed == step
        if left[0] == 0:
            raise Crash

    return hook


def test_a_slow_process_is_shut_out(world: LetterWorld) -> None:
    """A second replay starts while the first is about to commit: one of them sends, never both."""
    world.write_letters([letter(1, topic=world.topic, timestamp_ms=NOW_MS)])

    def another(passed: str) -> None:
        if passed == sending.MOVED:
            send(world)

    with pytest.raises(UserError, match="cannot be ended"):
        send(world, hook=another)
    assert len(world.sent()) == 1


def test_a_topic_of_letters_that_was_made_again_is_another_one(world: LetterWorld, broker: Broker) -> None:
    world.write_letters([letter(1, topic=world.topic, timestamp_ms=NOW_MS)])
    send(world)
    with Cluster(world.settings) as cluster:
        from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

        topic = DeleteTopicState(name=f"{world.topic}.dead", topic_id=None)
        cluster.call("delete_topics", DeleteTopicsRequest(topics=(topic,)))
    assert overview_of(world.project, origin=None, limit=1).total == 0
    broker.create_topic(f"{world.topic}.dead", partitions=2)
    world.write_letters([letter(2, topic=world.topic, timestamp_ms=NOW_MS)])
    assert send(world).sent == {"orders": 1}
    assert [record.value for record in world.sent()] == [b"1", b"2"]


def test_the_commands(world: LetterWorld) -> None:
    run = CliRunner().invoke
    here = ["--project", str(world.folder)]
    assert "There are no dead letters" in run(app, ["dead-letters", *here]).output
    fill(world)
    world.write_letters([letter(16, topic=world.topic, timestamp_ms=NOW_MS - 90_000)])
    listed = run(app, ["dead-letters", *here, "--limit", "2"]).output
    assert "2 of 6 dead letters" in listed
    assert "`at` is not a TIMESTAMP" in listed
    found = json.loads(run(app, ["dead-letters", *here, "--format", "json"]).stdout)
    assert found["total"] == 6
    assert found["letters"][0]["source"] == {"topic": world.topic, "partition": 0, "offset": 16}
    said = run(app, ["replay-dead-letters", *here, "--dry-run"]).output
    assert f"3 dead letters of orders would be sent to {world.topic} again" in said
    said = run(app, ["replay-dead-letters", *here]).output
    assert f"3 dead letters of orders sent to {world.topic} again" in said
    assert "1 dead letter of counts cannot be sent again" in said
    said = run(app, ["replay-dead-letters", *here]).output
    assert "There are no dead letters of v1 to send again" in said
    world.write_letters([letter(17, topic=world.topic, timestamp_ms=NOW_MS - 90_000)])
    said = run(app, ["replay-dead-letters", *here]).output
    assert "1 record of orders is probably behind its watermark" in said
    assert "barnabas pipeline replay --as" in said
