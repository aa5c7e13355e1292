"""A broker with damaged files: killed or stopped, damaged, started again, and read completely.

The damage is what a crash or a mistake may leave. No acknowledged record outside of it may be lost, retries of the
idempotent producer are still detected, and the log continues at its end.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from plain_requests import (
    EARLIEST,
    LATEST,
    commit_offset,
    committed_offset,
    fetch,
    list_offset,
    produce,
    read_all,
    read_around,
    retry_until_present,
    topic_names,
)

from barnabas.records.batch import split_batches, with_offsets
from barnabas.testing import Broker
from barnabas.wire.errors import ErrorCode

pytestmark = pytest.mark.crash

TOPIC = "t"
BATCHES = 60
BATCH_RECORDS = 5
PRODUCER_ID = 4711
# Recent: producers that have not written for a day expire.
START_MS = time.time_ns() // 1_000_000 - 3_600_000
CONFIG = {"internal.segment.bytes": "4000", "index.interval.bytes": "200"}
CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
GARBAGE = b"\xa5\x5a\x00\xff" * 37 + b"!"

Damage = Callable[[Path], None]


def values_of(number: int) -> list[bytes]:
    return [b"%06d-%d" % (number, n) + b"." * 40 for n in range(BATCH_RECORDS)]


EXPECTED = [value for number in range(BATCHES) for value in values_of(number)]


def send(broker: Broker, number: int) -> tuple[ErrorCode, int]:
    with broker.connect() as client:
        answer = produce(
            client,
            TOPIC,
            values_of(number),
            timestamp=START_MS + number * 1000,
            producer_id=PRODUCER_ID,
            base_sequence=number * BATCH_RECORDS,
        )
    return answer.error_code, answer.base_offset


def stored_values(broker: Broker) -> list[bytes | None]:
    with broker.connect() as client:
        records = read_all(client, TOPIC)
    assert [record.offset for record in records] == list(range(len(records)))
    return [record.value for record in records]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Data directories of a broker that was killed and of one that was stopped, with the same records in them."""
    directory = tmp_path_factory.mktemp("filled")
    with Broker(process=True, data_dir=directory / "killed", properties=_PROPERTIES) as broker:
        broker.create_topic(TOPIC, config=CONFIG)
        broker.create_topic("empty")
        for number in range(BATCHES):
            assert send(broker, number) == (ErrorCode.none, number * BATCH_RECORDS)
        with broker.connect() as client:
            assert commit_offset(client, "group", TOPIC, 123) == ErrorCode.none
        broker.kill()
        shutil.copytree(directory / "killed", directory / "stopped")
        broker.data_dir = str(directory / "stopped")
        broker.start()
        assert stored_values(broker) == EXPECTED
        with broker.connect() as client:
            list_offset(client, "empty", LATEST)  # opened: all logs are recovered, and this broker can close cleanly
        broker.stop()
    assert (directory / "stopped" / ".kafka_cleanshutdown").exists()
    assert not (directory / "killed" / ".kafka_cleanshutdown").exists()
    return directory / "killed", directory / "stopped"


_PROPERTIES = {"offsets.topic.num.partitions": "1"}


@pytest.fixture(params=["killed", "stopped"])
def data_dir(request: pytest.FixtureRequest, filled: tuple[Path, Path], tmp_path: Path) -> Path:
    """A copy to be damaged, after a kill and after a clean stop."""
    copy = tmp_path / "data"
    shutil.copytree(filled[request.param == "stopped"], copy)
    return copy


@pytest.fixture
def killed_dir(filled: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled[0], tmp_path / "data"))


@pytest.fixture
def stopped_dir(filled: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled[1], tmp_path / "data"))


def logs(data_dir: Path, partition: str = f"{TOPIC}-0") -> list[Path]:
    found = sorted((data_dir / partition).glob("*.log"))
    assert found
    return found


def start(data_dir: Path) -> Broker:
    """In a thread of this process: the crash is over, and what is started here is only ever stopped."""
    return Broker(data_dir=data_dir, properties=_PROPERTIES)


def check_all_is_well(broker: Broker, *, batches: int = BATCHES) -> None:
    """Every record by offset and by time, the producer's retries, and the next append."""
    assert stored_values(broker) == EXPECTED[: batches * BATCH_RECORDS]
    with broker.connect() as client:
        assert list_offset(client, TOPIC, EARLIEST) == 0
        assert list_offset(client, TOPIC, LATEST) == batches * BATCH_RECORDS
        for number in range(0, batches, 7):
            assert list_offset(client, TOPIC, START_MS + number * 1000 - 1) == number * BATCH_RECORDS
        assert topic_names(client) == {TOPIC, "empty", "__consumer_offsets"}
        assert committed_offset(client, "group", TOPIC) == 123
    last = batches - 1
    assert send(broker, last) == (ErrorCode.none, last * BATCH_RECORDS), "the retry was not recognised"
    assert send(broker, batches + 1)[0] == ErrorCode.out_of_order_sequence_number
    for number in range(batches, BATCHES + 1):
        assert send(broker, number) == (ErrorCode.none, number * BATCH_RECORDS)
    assert stored_values(broker) == [*EXPECTED, *values_of(BATCHES)]


def overwrite(*patterns: str, content: bytes | None) -> Damage:
    """None removes the files."""

    def damage(data_dir: Path) -> None:
        paths = [path for pattern in patterns for path in data_dir.glob(pattern)]
        for path in paths:
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content)

    return damage


def resize(pattern: str, by: int) -> Damage:
    def damage(data_dir: Path) -> None:
        for path in data_dir.glob(pattern):
            os.truncate(path, max(0, path.stat().st_size + by))

    return damage


INDEXES = (f"{TOPIC}-0/*.index", f"{TOPIC}-0/*.timeindex")
DAMAGES: dict[str, Damage] = {
    "nothing at all": lambda _: None,
    "indexes are garbage": overwrite(*INDEXES, content=GARBAGE),
    "indexes are zeros": overwrite(*INDEXES, content=bytes(960)),
    "indexes are empty": overwrite(*INDEXES, content=b""),
    "indexes are gone": overwrite(*INDEXES, content=None),
    "offset indexes are cut": resize(f"{TOPIC}-0/*.index", -5),
    "time indexes are cut": resize(f"{TOPIC}-0/*.timeindex", -7),
    "producer snapshots are gone": overwrite(f"{TOPIC}-0/*.snapshot", content=None),
    "producer snapshots are garbage": overwrite(f"{TOPIC}-0/*.snapshot", content=GARBAGE),
    "producer snapshots are empty": overwrite(f"{TOPIC}-0/*.snapshot", content=b""),
    "leader epochs are gone": overwrite("*/leader-epoch-checkpoint", content=None),
    "leader epochs are garbage": overwrite("*/leader-epoch-checkpoint", content=GARBAGE),
    "checkpoints are gone": overwrite(*CHECKPOINTS, content=None),
    "checkpoints are garbage": overwrite(*CHECKPOINTS, content=GARBAGE),
    "checkpoints are empty": overwrite(*CHECKPOINTS, content=b""),
    "the marker is gone": overwrite(".kafka_cleanshutdown", content=None),
    "topic ids are gone": overwrite(f"{TOPIC}-0/partition.metadata", content=None),
    "topic ids are empty": overwrite(f"{TOPIC}-0/partition.metadata", content=b""),
    "metadata indexes are garbage": overwrite(
        "__cluster_metadata-0/*.index", "__cluster_metadata-0/*.timeindex", content=GARBAGE
    ),
    "everything that can be rebuilt is gone": overwrite(
        *INDEXES,
        *CHECKPOINTS,
        ".kafka_cleanshutdown",
        "*/leader-epoch-checkpoint",
        f"{TOPIC}-0/*.snapshot",
        content=None,
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_what_can_be_rebuilt_is(data_dir: Path, damage: Damage) -> None:
    damage(data_dir)
    with start(data_dir) as broker:
        check_all_is_well(broker)
        broker.restart()
        assert stored_values(broker) == [*EXPECTED, *values_of(BATCHES)]


def half_a_batch(path: Path) -> bytes:
    """As if the next batch, much like the last one, had not been written to its end."""
    *_, last = split_batches(path.read_bytes())
    batch = b"".join(map(bytes, with_offsets(last, last.header.next_offset, last.header.leader_epoch)))
    return batch[: len(batch) // 2]


TAILS: dict[str, Callable[[Path], bytes]] = {
    "half a batch": half_a_batch,
    "half a header": lambda path: half_a_batch(path)[:30],
    "one byte": lambda _: b"\x00",
    "zeros": lambda _: bytes(4096),
    "garbage": lambda _: GARBAGE * 20,
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS.keys())
@pytest.mark.parametrize("partition", [f"{TOPIC}-0", "__cluster_metadata-0", "__consumer_offsets-0"])
def test_a_torn_tail_is_cut_off(killed_dir: Path, partition: str, tail: Callable[[Path], bytes]) -> None:
    path = logs(killed_dir, partition)[-1]
    torn = tail(path)
    if partition.startswith("__cluster") and tail is TAILS["garbage"]:
        return  # what a crash cannot have left there stops the start: see test_damaged_metadata.py
    with path.open("ab") as file:
        file.write(torn)
    with start(killed_dir) as broker:
        check_all_is_well(broker)


def test_a_torn_last_batch_is_cut_off_and_may_be_sent_again(killed_dir: Path) -> None:
    """The power went before the last pages were written: with flush.messages unset, that may happen."""
    path = logs(killed_dir)[-1]
    os.truncate(path, path.stat().st_size - 9)
    with start(killed_dir) as broker:
        check_all_is_well(broker, batches=BATCHES - 1)


def test_a_damaged_batch_after_the_recovery_point_ends_the_log(killed_dir: Path) -> None:
    data = bytearray(logs(killed_dir)[-1].read_bytes())
    first, *_, last = split_batches(bytes(data))
    data[len(first.data) - 3] ^= 0xFF
    logs(killed_dir)[-1].write_bytes(data)
    kept = first.header.base_offset // BATCH_RECORDS
    assert last.header.base_offset >= first.header.base_offset
    with start(killed_dir) as broker:
        check_all_is_well(broker, batches=kept)


def test_a_clean_start_scans_nothing_and_an_unclean_one_does(stopped_dir: Path) -> None:
    """A flipped byte shows whether the log was scanned: a scan would truncate it there."""
    path = logs(stopped_dir)[-1]
    data = bytearray(path.read_bytes())
    first = next(split_batches(bytes(data)))
    data[len(first.data) - 3] ^= 0xFF
    path.write_bytes(data)
    end = BATCHES * BATCH_RECORDS
    with start(stopped_dir) as broker:
        assert _end_offset(broker) == end
        broker.restart()
        assert _end_offset(broker) == end
        broker.stop()
        (stopped_dir / "recovery-point-offset-checkpoint").unlink()
        (stopped_dir / ".kafka_cleanshutdown").unlink()
        broker.start()
        assert _end_offset(broker) == first.header.base_offset


def test_damage_below_the_recovery_point_takes_no_other_batch_with_it(stopped_dir: Path) -> None:
    """Synced, stopped, started, some more, killed, damaged: only the damaged batch is refused."""
    with Broker(process=True, data_dir=stopped_dir, properties=_PROPERTIES) as broker:
        for number in range(BATCHES, BATCHES + 3):
            assert send(broker, number)[0] == ErrorCode.none
        broker.kill()
        harmed = []
        for path in (logs(stopped_dir)[0], logs(stopped_dir)[-1]):
            data = bytearray(path.read_bytes())
            first, second = [batch for batch, _ in zip(split_batches(bytes(data)), range(2), strict=False)]
            data[len(first.data) + 40 : len(first.data) + 90] = b"x" * 50
            path.write_bytes(data)
            harmed += range(second.header.base_offset, second.header.next_offset)
        broker.start()
        with broker.connect() as client:
            found, refused = read_around(client, TOPIC)
        assert refused == harmed
        expected = dict(enumerate([*EXPECTED, *(each for n in range(3) for each in values_of(BATCHES + n))]))
        assert found == {offset: value for offset, value in expected.items() if offset not in harmed}
        assert send(broker, BATCHES + 2) == (ErrorCode.none, (BATCHES + 2) * BATCH_RECORDS), "a retry"
        assert send(broker, BATCHES + 3) == (ErrorCode.none, (BATCHES + 3) * BATCH_RECORDS)


def test_a_broker_says_where_the_damage_is_that_it_refuses(stopped_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = logs(stopped_dir)[0]
    data = bytearray(path.read_bytes())
    position = len(next(split_batches(bytes(data))).data)
    data[position + 80] ^= 0xFF
    path.write_bytes(data)
    with Broker(data_dir=stopped_dir, properties=_PROPERTIES) as broker, broker.connect() as client:
        assert [fetch(client, TOPIC, 5).error_code for _ in range(3)] == [ErrorCode.corrupt_message] * 3
    (logged,) = [message for message in caplog.messages if "CORRUPT_MESSAGE" in message]
    assert f"{TOPIC}-0" in logged
    assert f"{path} is damaged from byte {position} " in logged
    assert "the next readable offset is 10" in logged
    assert "barnabas log verify" in logged


@pytest.mark.parametrize("harmed", ["older", "newer"])
def test_a_damaged_commit_is_lost_and_no_other(tmp_path: Path, harmed: str, caplog: pytest.LogCaptureFixture) -> None:
    with Broker(data_dir=tmp_path, properties=_PROPERTIES) as broker:
        broker.create_topic(TOPIC)
        with broker.connect() as client:
            for group, offset in (("older", 1), ("newer", 7), ("newer", 9)):
                assert commit_offset(client, group, TOPIC, offset) == ErrorCode.none
        broker.stop()
        (path,) = logs(tmp_path, "__consumer_offsets-0")
        content = bytearray(path.read_bytes())
        content[content.rindex(harmed.encode())] ^= 0xFF
        path.write_bytes(content)
        broker.start()
        with broker.connect() as client:
            found = {group: committed_offset(client, group, TOPIC) for group in ("older", "newer")}
    assert found == ({"older": -1, "newer": 9} if harmed == "older" else {"older": 1, "newer": 7})
    assert f"{path} is damaged from byte" in caplog.text


def _end_offset(broker: Broker) -> int:
    with broker.connect() as client:
        return list_offset(client, TOPIC, LATEST)


@pytest.fixture
def synced_broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker(process=True, data_dir=tmp_path / "data", properties=_PROPERTIES) as broker:
        broker.create_topic(TOPIC, config={**CONFIG, "flush.messages": "1"})
        yield broker


def test_what_was_synced_and_acknowledged_is_readable_at_once_after_a_kill(synced_broker: Broker) -> None:
    """With flush.messages=1 consumers see what is synced; after a crash that must not wait for the next append."""
    for number in range(3):
        assert send(synced_broker, number)[0] == ErrorCode.none
    synced_broker.kill()
    synced_broker.start()
    retry_until_present(lambda: stored_values(synced_broker) == EXPECTED[: 3 * BATCH_RECORDS] or None)
