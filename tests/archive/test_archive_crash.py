"""An archiver that dies after any step leaves a correct manifest, and the next one continues from it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from archive_world import archived, values_of, write

from barnabas.archive.store import Step
from barnabas.history.manifest import load
from barnabas.testing import Broker

PROGRAM = """
import os, signal, sys
from pathlib import Path
from barnabas.archive.rolling import RollRules
from barnabas.archive.run import Job, Watcher, archive
from barnabas.archive.store import Step
from barnabas.client.properties import client_settings

servers, topic, history, step, skip = sys.argv[1:]
left = int(skip)

def die(at):
    global left
    if at == step:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

archive(
    client_settings({"bootstrap.servers": servers}),
    Job([topic], Path(history), rules=RollRules(rows=1)),
    Watcher(on_step=die),
)
"""


@pytest.mark.crash
@pytest.mark.parametrize("step", list(Step))
def test_killed_after_any_step(broker: Broker, barnabas_topic: str, tmp_path: Path, step: Step) -> None:
    broker.create_topic(barnabas_topic)
    servers = broker.bootstrap_servers
    values = [b"%d" % number for number in range(8)]
    write(servers, barnabas_topic, values[:5])
    before = archived(servers, barnabas_topic, tmp_path)
    write(servers, barnabas_topic, values[5:])
    program = [sys.executable, "-c", PROGRAM, servers, barnabas_topic, str(tmp_path), step, "0"]
    died = subprocess.run(program, timeout=60, env=os.environ, check=False)
    assert died.returncode == -signal.SIGKILL
    left = load(tmp_path, barnabas_topic)
    is_in_force = step in (Step.MANIFEST_RENAMED, Step.MANIFEST_IN_PLACE)
    assert left.tiered_through == {0: 8 if is_in_force else 5}
    assert values_of(tmp_path, left) == values[: 8 if is_in_force else 5]
    assert list(before.files()) == list(left.files())[:1]
    after = archived(servers, barnabas_topic, tmp_path)
    assert values_of(tmp_path, after) == values
    folder = tmp_path / barnabas_topic
    assert {path.name for path in folder.glob("*.parquet")} == {piece.file for piece in after.files()}
    assert not list(folder.glob(".*.tmp"))


class _Stop(BaseException):
    pass


@pytest.mark.parametrize("step", list(Step))
def test_an_error_after_any_step_of_the_first_file(
    broker: Broker, barnabas_topic: str, tmp_path: Path, step: Step
) -> None:
    """The same without a manifest at the start."""
    from barnabas.archive.run import Watcher

    broker.create_topic(barnabas_topic)
    servers = broker.bootstrap_servers
    write(servers, barnabas_topic, [b"a", b"b"])

    def stop(at: Step) -> None:
        if at is step:
            raise _Stop

    with pytest.raises(_Stop):
        archived(servers, barnabas_topic, tmp_path, Watcher(on_step=stop))
    manifest = archived(servers, barnabas_topic, tmp_path)
    assert values_of(tmp_path, manifest) == [b"a", b"b"]
    assert {path.name for path in (tmp_path / barnabas_topic).glob("*.parquet")} == {
        piece.file for piece in manifest.files()
    }


@pytest.mark.parametrize("step", list(Step))
def test_a_full_disk_is_said_and_the_next_run_goes_on(
    broker: Broker, barnabas_topic: str, tmp_path: Path, step: Step
) -> None:
    import errno

    from barnabas.archive.run import Watcher
    from barnabas.history.errors import HistoryError

    broker.create_topic(barnabas_topic)
    servers = broker.bootstrap_servers
    write(servers, barnabas_topic, [b"a"])
    archived(servers, barnabas_topic, tmp_path)
    write(servers, barnabas_topic, [b"b"])

    def fill(at: Step) -> None:
        if at is step:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(HistoryError, match="No space left") as caught:
        archived(servers, barnabas_topic, tmp_path, Watcher(on_step=fill))
    assert "free some space" in caught.value.hint
    assert load(tmp_path, barnabas_topic).tiered_through[0] in (1, 2)
    assert values_of(tmp_path, archived(servers, barnabas_topic, tmp_path)) == [b"a", b"b"]
