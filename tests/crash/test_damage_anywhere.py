"""Any bytes of any file of a data directory are damaged, after a clean stop or a kill, and a broker starts on it.

Nothing below the recovery point is lost but what the damaged batches held. Nothing that is damaged is served. The
broker, and `barnabas log verify` before it, agree on every offset. A broker that refuses to start has changed nothing,
and says which file it was and what to do.

    BARNABAS_SEED=7 BARNABAS_DAMAGE_ROUNDS=1000 pytest -s -p no:xdist tests/crash/test_damage_anywhere.py
"""

import os
import random
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from damage_world import (
    COMMITTED,
    PLAIN,
    PROPERTIES,
    TOPICS,
    TRIMMED,
    TRIMMED_TO,
    TXN,
    Served,
    Written,
    batches_of,
    fetch,
    make_directories,
)
from plain_requests import committed_offset, list_offset, topic_names

from barnabas.cli.log_files import find_segments
from barnabas.cli.log_verification import verify_segments
from barnabas.records.batch import split_batches
from barnabas.testing import Broker
from barnabas.testing.client import Client
from barnabas.testing.runner import BrokerDidNotStart
from barnabas.wire.errors import ErrorCode

pytestmark = pytest.mark.crash

ROUNDS = int(os.environ.get("BARNABAS_DAMAGE_ROUNDS", "100"))
SEED = int(os.environ.get("BARNABAS_SEED", random.randrange(1 << 32)))
METADATA = "__cluster_metadata-0"
GROUPS = "__consumer_offsets-0"
CLEAN_MARK = ".kafka_cleanshutdown"


class Damage(NamedTuple):
    path: Path
    """Relative to the directory."""
    begin: int
    content: bytes

    @property
    def end(self) -> int:
        return self.begin + len(self.content)

    @property
    def is_in_metadata(self) -> bool:
        return self.path.parts[0] == METADATA or self.path.name == "meta.properties"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Written, Written]:
    print(f"\nBARNABAS_SEED={SEED}")
    return make_directories(tmp_path_factory.mktemp("written"))


@pytest.mark.parametrize("number", range(ROUNDS))
def test_damage_takes_only_what_it_touches(
    written: tuple[Written, Written], number: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rng = random.Random(f"{SEED}-{number}")
    origin = written[number % 2]
    damage = choose(rng, origin)
    data_dir = tmp_path / "data"
    shutil.copytree(origin.path, data_dir)
    with (data_dir / damage.path).open("r+b") as file:
        file.seek(damage.begin)
        file.write(damage.content)
    print(f"BARNABAS_SEED={SEED}, round {number}, {origin.path.name}: {damage}")
    readable = verified(data_dir)
    before = contents(data_dir)
    broker = Broker(data_dir=data_dir, properties=PROPERTIES)
    refusal = why_it_does_not_start(broker)
    if refusal is not None:
        assert contents(data_dir) == before, "it has changed something"
        assert damage.is_in_metadata, refusal
        assert str(data_dir / damage.path) in refusal
        assert "backup" in refusal
        return
    try:
        check(broker, rng, origin, damage, readable)
        if was_met_by_a_reader(origin, damage):
            logged = [message for message in caplog.messages if str(data_dir / damage.path) in message]
            assert any("byte" in line and ("log verify" in line or "truncated" in line) for line in logged), logged
        if rng.randrange(3) == 0:
            broker.restart()
            check(broker, rng, origin, damage, None)
    finally:
        broker.close()


def why_it_does_not_start(broker: Broker) -> str | None:
    try:
        broker.start()
    except BrokerDidNotStart as refused:
        return str(refused)
    return None


def choose(rng: random.Random, origin: Written) -> Damage:
    """A kind of file first: there are many segments, and one of some others. Segments come up more often, above all
    those with the recovery point: a start after a kill reads them."""
    directory = origin.path
    kinds: dict[str, list[Path]] = {"recovery point": [segment_at(origin, topic) for topic in TOPICS]}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.stat().st_size:
            place = path.relative_to(directory).parts[0] if path.parent != directory else ""
            owner = place if place.startswith("__") else "topic" if place else ""
            kinds.setdefault(f"{owner} {path.suffix or path.name}", []).append(path)
    kind = rng.choice(("recovery point", "topic .log", rng.choice(sorted(kinds))))
    path = rng.choice(kinds[kind])
    content = path.read_bytes()
    begin = rng.randrange(len(content))
    size = min(rng.choice((1, 1, 2, 8, 50, 300)), len(content) - begin)
    old = content[begin : begin + size]
    for _ in range(100):
        new = rng.choice(
            (
                rng.randbytes(size),
                bytes(size),
                b"\xff" * size,
                bytes([old[0] ^ (1 << rng.randrange(8))]) + old[1:],
                bytes(rng.choice(b"0123456789") for _ in old),
            )
        )
        changed = [at for at, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
        if changed:
            first, last = changed[0], changed[-1]
            return Damage(path.relative_to(directory), begin + first, new[first : last + 1])
    raise AssertionError("there is always another content")


def segment_at(origin: Written, topic: str) -> Path:
    """The segment with the recovery point."""
    segments = sorted((origin.path / f"{topic}-0").glob("*.log"))
    return max(path for path in segments if int(path.stem) < origin.recovery_points[topic])


def verified(data_dir: Path) -> dict[str, set[int]]:
    """By partition: the offsets that `log verify` finds readable."""
    report = verify_segments(find_segments(str(data_dir)), deep=False, advance=lambda _: None)
    found: dict[str, set[int]] = {f"{topic}-0": set() for topic in TOPICS}
    for run in report.readable:
        found.setdefault(run.partition, set()).update(range(run.first_offset, run.last_offset + 1))
    return found


def contents(data_dir: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(data_dir.rglob("*")) if path.is_file()}


def check(
    broker: Broker, rng: random.Random, origin: Written, damage: Damage, readable: dict[str, set[int]] | None
) -> None:
    with broker.connect() as client:
        assert topic_names(client) >= set(TOPICS)
        for topic in TOPICS:
            served = Served.read(client, topic)
            check_topic(served, topic, origin, damage)
            if readable is not None:
                # A transaction whose state was damaged may get another marker at the end of the log.
                found = {offset for offset in served.offsets if offset < origin.ends[topic]}
                expected = {offset for offset in readable[f"{topic}-0"] if offset >= served.start}
                assert found == expected, f"log verify and {topic} disagree"
            check_places(client, rng, topic, origin, served)
        committed = committed_offset(client, "group", PLAIN)
        assert committed == COMMITTED or (damage.path.parts[0] == GROUPS and committed in (COMMITTED - 10, -1))


def check_topic(served: Served, topic: str, origin: Written, damage: Damage) -> None:
    expected = origin.values[topic]
    harmed, cut_from = harmed_offsets(origin, topic, damage)
    point = origin.recovery_points[topic]
    kept = {offset for offset in expected if offset < cut_from or offset < point}
    if topic == TRIMMED and served.start != TRIMMED_TO:
        assert damage.path.name in ("log-start-offset-checkpoint", "replication-offset-checkpoint"), served.start
        assert served.start < TRIMMED_TO  # what was deleted may be back
    for offset, value in served.values.items():
        assert offset < TRIMMED_TO or value == expected[offset], f"{topic} gives {value!r} at offset {offset}"
    assert kept - harmed <= set(served.values), f"{topic} has lost {sorted(kept - harmed - set(served.values))}"
    assert served.refused <= harmed, f"{topic} refuses {sorted(served.refused - harmed)}"
    assert not served.offsets & harmed
    assert served.end >= min(cut_from, origin.ends[topic])
    if topic == TXN:
        assert served.committed <= origin.committed, "aborted records pass for committed"
        assert {offset for offset in origin.committed if offset < point} - harmed <= served.committed


def harmed_offsets(origin: Written, topic: str, damage: Damage) -> tuple[set[int], int]:
    """Of the batches that the damage touches; and the offset from which on the log may be cut off."""
    if damage.path.parts[0] != f"{topic}-0" or damage.path.suffix != ".log":
        return set(), 1 << 62
    harmed: set[int] = set()
    for begin, end, offsets in batches_of(origin.path / damage.path):
        if begin < damage.end and damage.begin < end:
            harmed |= set(offsets)
    point = origin.recovery_points[topic]
    is_unclean = not (origin.path / CLEAN_MARK).exists()
    beyond = [offset for offset in harmed if offset >= point]
    cut_from = min(beyond) if is_unclean and beyond else 1 << 62
    return harmed, cut_from


def was_met_by_a_reader(origin: Written, damage: Damage) -> bool:
    topic = damage.path.parts[0].removesuffix("-0")
    if topic not in TOPICS:
        return False
    harmed, cut_from = harmed_offsets(origin, topic, damage)
    return cut_from < 1 << 62 or any(offset >= min(origin.values[topic]) for offset in harmed)


def check_places(client: Client, rng: random.Random, topic: str, origin: Written, served: Served) -> None:
    """Single offsets, and offsets by time, as the indexes lead to them."""
    known = sorted(served.values)
    for offset in rng.sample(range(served.start, served.end), 8):
        answer = fetch(client, topic, offset, max_bytes=1)
        if offset in served.refused:
            assert answer.error_code == ErrorCode.corrupt_message
            continue
        assert answer.error_code == ErrorCode.none
        batch = next(split_batches(answer.records or b""), None)
        assert batch is not None, f"{topic} gives nothing at offset {offset}"
        assert batch.header.base_offset <= offset <= batch.header.last_offset
    if topic == TXN:
        return  # its markers have times, too
    for offset in rng.sample([each for each in known if each in origin.timestamps[topic]], 4):
        timestamp = origin.timestamps[topic][offset]
        times = {each: origin.timestamps[topic].get(each, 0) for each in known}
        found = list_offset(client, topic, timestamp)
        assert found == min(each for each in known if times[each] >= timestamp), f"{topic} at {timestamp}"
