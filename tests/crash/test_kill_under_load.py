"""SIGKILL at random moments under load: every acknowledged record is there, once, in order.

    BARNABAS_SEED=7 BARNABAS_KILL_ROUNDS=500 pytest -s tests/crash/test_kill_under_load.py

repeats a failure (as far as threads and processes can be repeated) or soaks.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from kill_bystanders import Follower, TopicChurn, committed_offsets, topics_and_epochs
from kill_check import (
    by_epoch,
    check_compacted,
    check_retained,
    check_writer,
    count_sound_segments,
    read_partition,
    read_what_is_left,
    unanswered_writes,
)
from kill_writers import Writer
from plain_requests import alter_topic

from barnabas.model import TopicPartition
from barnabas.records.batch import split_batches
from barnabas.testing import Broker
from barnabas.testing.runner import BrokerDidNotStart

ROUNDS = int(os.environ.get("BARNABAS_KILL_ROUNDS", "20"))
PROPERTIES = {
    # So that kills land in checkpoints, in retention, in removals and in the compaction of committed offsets too.
    "log.flush.offset.checkpoint.interval.ms": "150",
    "log.initial.task.delay.ms": "200",
    "log.retention.check.interval.ms": "200",
    "log.segment.delete.delay.ms": "100",
    "offsets.topic.num.partitions": "1",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.min.cleanable.ratio": "0.1",
}
SMALL_SEGMENTS = {"internal.segment.bytes": "30000", "index.interval.bytes": "1000"}
# An answer leaves the broker microseconds after the write, so few kills fall in between, unless it waits for the sync.
TOPICS = {"ledger": SMALL_SEGMENTS, "vault": {**SMALL_SEGMENTS, "flush.messages": "1"}}
PARTITIONS = [TopicPartition(topic, index) for topic in TOPICS for index in range(3)]

# Of these only a part is left in the end, and which part is known.
REGISTER = {
    **SMALL_SEGMENTS,
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "internal.segment.bytes": "10000",
}
WINDOW = {**SMALL_SEGMENTS, "retention.bytes": "60000", "internal.segment.bytes": "10000"}
COMPACTED = [TopicPartition("register", index) for index in range(2)]
RETAINED = [TopicPartition("window", index) for index in range(2)]
KEYS = 40

# Of ten kills, this many are followed by another one while the broker starts and recovers.
KILLS_AT_START_OF_TEN = 3


class Life(NamedTuple):
    epochs: dict[TopicPartition, int]
    """The leader epochs of this run of the broker: every unclean restart starts new ones."""
    acknowledged: list[dict[TopicPartition, int]]
    """How much each writer had acknowledged when it ended."""


@pytest.mark.crash
@pytest.mark.timeout(300 + 15 * ROUNDS)
def test_killed_again_and_again(tmp_path: Path) -> None:
    seed = int(os.environ.get("BARNABAS_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"BARNABAS_SEED={seed}")
    rng = random.Random(seed)
    data_dir = tmp_path / "data"
    with Broker(process=True, properties=PROPERTIES, data_dir=data_dir) as broker:
        for topic, config in TOPICS.items():
            broker.create_topic(topic, partitions=3, config=config)
        broker.create_topic("register", partitions=len(COMPACTED), config=REGISTER)
        broker.create_topic("window", partitions=len(RETAINED), config=WINDOW)
        servers = broker.bootstrap_servers
        writers = [Writer(f"once{n}", servers, PARTITIONS, idempotent=True, seed=rng.getrandbits(32)) for n in range(2)]
        writers += [
            Writer(f"plain-{partition}", servers, [partition], idempotent=False, seed=rng.getrandbits(32))
            for partition in PARTITIONS
        ]
        registrar = Writer("register", servers, COMPACTED, idempotent=True, seed=rng.getrandbits(32), keys=KEYS)
        passer_by = Writer("window", servers, RETAINED, idempotent=True, seed=rng.getrandbits(32))
        follower = Follower(servers, list(TOPICS))
        churn = TopicChurn(broker.port, rng.getrandbits(32))
        load = [*writers, registrar, passer_by, follower, churn]
        lives: list[Life] = []
        kills_at_start = 0
        for member in load:
            member.start()
        try:
            _wait_for_change(lambda: len(follower.committed), "the group's first commit")
            with broker.connect() as client:
                alter_topic(client, "__consumer_offsets", {"internal.segment.bytes": "5000"})
            for _ in range(ROUNDS):
                _, epochs = topics_and_epochs(broker.port)
                _wait_until_it_flows(writers)
                if rng.random() < 0.4:  # coming back takes a group member longer than most lives last
                    _wait_for_change(lambda: sum(follower.committed.values()), "a commit")
                time.sleep(rng.uniform(0, 0.35))
                outstanding = sum(writer.outstanding() for writer in writers)
                broker.kill()
                _let_last_answers_arrive(writers)
                lives.append(Life(epochs, [writer.acknowledged_counts() for writer in writers]))
                created, deleted, committed = set(churn.created), set(churn.deleted), dict(follower.committed)
                if rng.randrange(10) < KILLS_AT_START_OF_TEN:
                    kills_at_start += _kill_while_it_starts(broker, rng.uniform(0.05, 0.4))
                broker.start()
                topics, _ = topics_and_epochs(broker.port)
                assert created - churn.doomed <= topics
                assert not deleted & topics
                found = committed_offsets(servers, PARTITIONS)
                gone_back = {place: (was, found[place]) for place, was in committed.items() if found[place] < was}
                assert not gone_back, f"committed offsets went back: {gone_back}"
                total = sum(found.values())
                print(f"killed with {outstanding} records under way; {len(topics)} topics, {total} committed")
                assert not [failure for member in load for failure in member.failures]
        finally:
            for member in load:
                member.finish()
                print(*member.failures[:5], sep="\n", end="")
        assert not [failure for member in load for failure in member.failures]

        stored = {partition: read_partition(servers, partition) for partition in PARTITIONS}
        doubled = sum(check_writer(writer, place, stored[place]) for writer in writers for place in writer.partitions)
        for (partition, offset), value in follower.seen.items():
            assert stored[partition][offset].value == value, f"what was read at {offset} of {partition} has changed"
        compacted = sum(check_compacted(registrar, each, read_what_is_left(servers, each)) for each in COMPACTED)
        expired = sum(check_retained(passer_by, each, read_what_is_left(servers, each)) for each in RETAINED)
        lived = {partition: by_epoch(records) for partition, records in stored.items()}
        unanswered = [
            sum(
                unanswered_writes(writer, lived, counts, life.epochs)
                for writer, counts in zip(writers, life.acknowledged, strict=True)
            )
            for life in lives
        ]
        broker.stop()
    segments = count_sound_segments(data_dir, PARTITIONS)
    count_sound_segments(data_dir, [*COMPACTED, *RETAINED])
    print(
        f"{len(lives)} kills under load, {sum(map(bool, unanswered))} of them between a write and its answer "
        f"({sum(unanswered)} records), {kills_at_start} more while starting; "
        f"{sum(map(len, stored.values()))} records in {sum(segments.values())} segments, "
        f"{doubled} doubles (plain producers), {len(follower.seen)} followed, {len(churn.created)} topics created, "
        f"{len(churn.deleted)} deleted; {compacted} of {sum(registrar.sent.values())} keyed records compacted away, "
        f"{expired} of {sum(passer_by.sent.values())} taken by retention, "
        f"committed offsets compacted: {_was_compacted(data_dir)}"
    )
    assert compacted > KEYS, "compaction had nothing to do: this has shown nothing of it"
    assert expired, "retention had nothing to do: this has shown nothing of it"
    assert any(unanswered), "no kill landed while requests were in flight: this has shown nothing"
    assert _was_compacted(data_dir)
    assert min(segments.values()) > 5, f"too few segments were rolled: {segments}"


def _was_compacted(data_dir: Path) -> bool:
    """Whether a record was removed: then the offsets of the batches have gaps."""
    headers = [
        batch.header
        for path in sorted((data_dir / "__consumer_offsets-0").glob("*.log"))
        for batch in split_batches(path.read_bytes())
    ]
    return sum(header.record_count for header in headers) < headers[-1].next_offset


def _wait_until_it_flows(writers: list[Writer]) -> None:
    """Wait until a writer of each kind has an answer from this run of the broker."""
    for kind in (True, False):
        of_kind = [writer for writer in writers if writer.idempotent is kind]
        _wait_for_change(
            lambda of_kind=of_kind: sum(sum(each.acknowledged_counts().values()) for each in of_kind),
            "an acknowledgement",
        )


def _wait_for_change(look: Callable[[], int], what: str) -> None:
    before = look()
    deadline = time.monotonic() + 30
    while look() == before:
        assert time.monotonic() < deadline, f"{what} does not come"
        time.sleep(0.002)


def _let_last_answers_arrive(writers: list[Writer]) -> None:
    """The broker is dead; answers that it had sent may still be on their way through librdkafka's threads."""
    before = None
    while (now := [writer.acknowledged_counts() for writer in writers]) != before:
        before = now
        time.sleep(0.03)


def _kill_while_it_starts(broker: Broker, delay_s: float) -> int:
    """1 if it was killed before it was ready; the broker is down when this returns."""

    def kill_it() -> None:
        while not broker.is_running():
            time.sleep(0.001)
        pid = broker.pid
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_it, name="killer")
    killer.start()
    try:
        broker.start()
    except BrokerDidNotStart:
        return 1
    finally:
        killer.join()
    broker.kill()
    return 0
