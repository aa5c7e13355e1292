"""Damage in the metadata log stops the start, names what is damaged and what to do, and changes nothing."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from plain_requests import topic_names

from barnabas.records.batch import split_batches
from barnabas.testing import Broker
from barnabas.testing.runner import BrokerDidNotStart

pytestmark = pytest.mark.crash

METADATA = "__cluster_metadata-0"
TOPICS = {f"topic-{number}" for number in range(5)}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Directories of a broker that was killed, and of one that was stopped."""
    directory = tmp_path_factory.mktemp("filled")
    with Broker(process=True, data_dir=directory / "killed") as broker:
        for topic in sorted(TOPICS):
            broker.create_topic(topic)
        broker.kill()
        shutil.copytree(directory / "killed", directory / "stopped")
        broker.data_dir = str(directory / "stopped")
        broker.start()
        with broker.connect() as client:
            assert topic_names(client) >= TOPICS
        broker.stop()
    return directory / "killed", directory / "stopped"


@pytest.fixture(params=["killed", "stopped"])
def data_dir(request: pytest.FixtureRequest, filled: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled[request.param == "stopped"], tmp_path / "data"))


def log_of(data_dir: Path) -> Path:
    (path,) = (data_dir / METADATA).glob("*.log")
    return path


def contents(data_dir: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(data_dir.rglob("*")) if path.is_file()}


def refusal(data_dir: Path) -> str:
    """Why the broker does not start; it must not have changed a byte."""
    before = contents(data_dir)
    with pytest.raises(BrokerDidNotStart) as refused:
        Broker(data_dir=data_dir).start()
    assert contents(data_dir) == before
    return str(refused.value)


def batches_of(path: Path) -> list[tuple[int, int]]:
    """Position and size of each."""
    places = []
    position = 0
    for batch in split_batches(path.read_bytes()):
        places.append((position, len(batch.data)))
        position += len(batch.data)
    return places


def overwrite(path: Path, position: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)


@pytest.mark.parametrize("position", [0, 8, 17, 300, 700])
def test_damage_stops_the_start_and_nothing_is_touched(data_dir: Path, position: int) -> None:
    path = log_of(data_dir)
    begin = max(at for at, _ in batches_of(path) if at <= position)
    overwrite(path, position, b"\xa5" * 20)
    message = refusal(data_dir)
    assert f"{path} is damaged from byte {begin} " in message
    assert "nothing was changed" in message
    assert "from a backup" in message
    assert f"barnabas log verify {data_dir / METADATA}" in message


LAST_BATCH: dict[str, Callable[[int, int], tuple[int, bytes]]] = {
    "a byte of its records": lambda at, size: (at + size - 10, b"\xa5"),
    "its length": lambda at, size: (at + 8, (size + 400).to_bytes(4, "big")),
    "its offset": lambda at, size: (at + 6, b"\x02"),
    "all of it": lambda at, size: (at, b"\xa5" * size),
}


@pytest.mark.parametrize("harm", LAST_BATCH.values(), ids=LAST_BATCH.keys())
def test_a_last_batch_that_is_damaged_is_not_taken_for_a_torn_one(
    data_dir: Path, harm: Callable[[int, int], tuple[int, bytes]]
) -> None:
    """It was most likely acknowledged; the message says how to continue without it."""
    path = log_of(data_dir)
    position, size = batches_of(path)[-1]
    overwrite(path, *harm(position, size))
    message = refusal(data_dir)
    assert f"{path} is damaged from byte {position} to {position + size}" in message
    assert f"truncate -s {position} {path}" in message
    os.truncate(path, position)
    if not (data_dir / ".kafka_cleanshutdown").exists():
        with Broker(data_dir=data_dir) as broker, broker.connect() as client:
            assert topic_names(client) >= TOPICS - {max(TOPICS)}


def test_garbage_behind_the_log_is_not_taken_for_a_torn_batch(data_dir: Path) -> None:
    path = log_of(data_dir)
    size = path.stat().st_size
    overwrite(path, size, b"\xa5\x5a\x00\xff" * 100)
    if (data_dir / ".kafka_cleanshutdown").exists():  # then it is known that the log ends before it
        with Broker(data_dir=data_dir) as broker, broker.connect() as client:
            assert topic_names(client) >= TOPICS
    else:
        assert f"truncate -s {size} {path}" in refusal(data_dir)


def test_a_metadata_log_that_lost_its_end_stops_the_start(data_dir: Path) -> None:
    path = log_of(data_dir)
    if (data_dir / ".kafka_cleanshutdown").exists():
        os.truncate(path, batches_of(path)[-1][0])
        assert "its last records are missing" in refusal(data_dir)


@pytest.mark.parametrize("name", ["quorum-state", "*.checkpoint"])
@pytest.mark.parametrize("position", [0, 20, -5])
def test_damage_beside_the_log_stops_the_start_too(data_dir: Path, name: str, position: int) -> None:
    (path,) = (data_dir / METADATA).glob(name)
    overwrite(path, position % path.stat().st_size, b"\xa5" * 3)
    message = refusal(data_dir)
    assert f"{path} is damaged" in message
    assert "byte" in message
    assert "backup" in message


def test_a_directory_that_a_crash_left_empty_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / METADATA).mkdir()
    with Broker(data_dir=tmp_path) as broker, broker.connect() as client:
        assert topic_names(client) == set()


def test_a_broken_index_of_the_metadata_log_is_rebuilt(data_dir: Path) -> None:
    for kind in ("*.index", "*.timeindex", "*.snapshot", "leader-epoch-checkpoint"):
        for path in (data_dir / METADATA).glob(kind):
            path.write_bytes(b"\xa5" * 33)
    with Broker(data_dir=data_dir) as broker, broker.connect() as client:
        assert topic_names(client) >= TOPICS
