"""A pipeline's status file: written atomically, read by any process, and evaluated when its writer is gone."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.pipeline import status as statuses
from barnabas.pipeline import stop
from barnabas.pipeline.status import FlowStatus, Health, State, Status
from barnabas.spark.errors import UserError

RUNNING = FlowStatus("f", State.RUNNING, time.time(), batch_id=3, lag=10)


def mine(*flows: FlowStatus) -> Status:
    return statuses.of_this_process("shop", "v1", time.time(), flows or (RUNNING,))


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    flow = FlowStatus(
        "f", State.RUNNING, 1.5, 7, 1.5, 2.5, 3, 4, 5, "2026-01-01T00:00:00Z", 6, 7, "an error\nof two lines"
    )
    status = mine(flow)
    statuses.write(tmp_path / "v1", status)
    assert statuses.read(tmp_path / "v1") == status
    assert statuses.versions(tmp_path) == ["v1"]
    assert os.listdir(tmp_path / "v1") == ["status.json"]


def test_nothing_to_read(tmp_path: Path) -> None:
    assert statuses.read(tmp_path / "v1") is None
    assert statuses.versions(tmp_path / "none") == []


@pytest.mark.parametrize("text", ["", "{}", '{"project": 1}', "no json"])
def test_a_file_that_is_no_status(tmp_path: Path, text: str) -> None:
    (tmp_path / "status.json").write_text(text)
    with pytest.raises(UserError, match=r"status.json is not a status file .*\nhint: remove the file"):
        statuses.read(tmp_path)


def test_health_of_the_living() -> None:
    status = mine()
    assert statuses.health(status) is Health.RUNNING
    assert statuses.health(status, now=status.updated_at + statuses.SILENT_AFTER_S + 1) is Health.SILENT


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([State.FINISHED, State.FINISHED], Health.FINISHED),
        ([State.FINISHED, State.STOPPED], Health.STOPPED),
        ([State.STOPPED, State.FAILED], Health.FAILED),
        ([State.RUNNING, State.FAILED], Health.DEGRADED),
        ([State.WAITING, State.BLOCKED], Health.DEGRADED),
        ([State.RETRYING], Health.DEGRADED),
        ([State.STARTING, State.WAITING], Health.RUNNING),
        ([], Health.RUNNING),
    ],
)
def test_health_of_flows(states: list[State], expected: Health) -> None:
    status = replace(mine(), flows=tuple(replace(RUNNING, state=state) for state in states))
    assert statuses.health(status) is expected


def test_a_process_that_is_gone_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert statuses.health(replace(mine(), pid=child.pid, process="")) is Health.DEAD


def test_a_later_process_of_the_same_number_is_another() -> None:
    assert statuses.health(replace(mine(), process=f"{os.getpid()}@1")) is Health.DEAD


def test_a_process_elsewhere_cannot_be_looked_at() -> None:
    status = replace(mine(), host="elsewhere", pid=2**22 + 1)
    assert statuses.health(status) is Health.RUNNING
    assert statuses.health(status, now=status.updated_at + 3600) is Health.SILENT


DRIVER = """
import signal, sys, time
from pathlib import Path
from barnabas.pipeline import status, stop
from barnabas.pipeline.status import FlowStatus, State
folder, obeys = Path(sys.argv[1]), sys.argv[2]
if obeys == "nothing":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
def tell(state):
    status.write(folder, status.of_this_process("shop", "v1", time.time(), [FlowStatus("f", state, time.time())]))
stop.clear(folder)
tell(State.RUNNING)
while not (obeys == "requests" and stop.requested(folder)):
    time.sleep(0.02)
tell(State.STOPPED)
stop.clear(folder)
"""


class Driver:
    def __init__(self, folder: Path, obeys: str) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", DRIVER, str(folder), obeys])
        while statuses.read(folder) is None:
            assert self.process.poll() is None
            time.sleep(0.01)


@pytest.fixture
def drivers() -> Iterator[list[Driver]]:
    started: list[Driver] = []
    yield started
    for driver in started:
        driver.process.kill()
        driver.process.wait()


def test_a_driver_stops_when_it_is_asked(tmp_path: Path, drivers: list[Driver]) -> None:
    drivers.append(Driver(tmp_path / "v1", "requests"))
    said: list[str] = []
    last = stop.stop(tmp_path / "v1", timeout_s=60, say=said.append)
    assert statuses.health(last) is Health.STOPPED
    assert drivers[0].process.wait() == 0
    assert said == [f"Asked process {drivers[0].process.pid} to stop after its current batches"]
    assert not (tmp_path / "v1" / "stop").exists()
    with pytest.raises(UserError, match="version v1 of this project is not running; its last run is stopped"):
        stop.stop(tmp_path / "v1", timeout_s=1)


def test_a_driver_that_does_not_listen_gets_a_signal(tmp_path: Path, drivers: list[Driver]) -> None:
    drivers.append(Driver(tmp_path / "v1", "signals"))
    said: list[str] = []
    last = stop.stop(tmp_path / "v1", timeout_s=0.2, say=said.append)
    assert drivers[0].process.wait() == -signal.SIGTERM
    assert "sending SIGTERM" in said[1]
    assert statuses.health(last) is Health.DEAD


def test_a_driver_that_obeys_nothing_is_told_of(
    tmp_path: Path, drivers: list[Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop, "AFTER_SIGTERM_S", 0.2)
    drivers.append(Driver(tmp_path / "v1", "nothing"))
    with pytest.raises(
        UserError, match=rf"is still running\nhint: wait .*kill -9 {drivers[0].process.pid}; nothing is lost"
    ):
        stop.stop(tmp_path / "v1", timeout_s=0.1)


def test_a_request_to_one_process_is_none_to_another(tmp_path: Path) -> None:
    tmp_path.joinpath("stop").write_text("1@1\n")
    assert not stop.requested(tmp_path)
    tmp_path.joinpath("stop").write_text(f"{statuses.process_id(os.getpid())}\n")
    assert stop.requested(tmp_path)
    stop.clear(tmp_path)
    assert not stop.requested(tmp_path)


def test_a_driver_elsewhere_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statuses.write(tmp_path / "v1", replace(mine(), host="elsewhere"))
    with pytest.raises(UserError, match=r"process \d+ on elsewhere is still running\n.* on elsewhere; nothing is lost"):
        stop.stop(tmp_path / "v1", timeout_s=0.1)
    assert socket.gethostname() != "elsewhere"
