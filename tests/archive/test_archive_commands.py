"""`barnabas archive ...`, run in this process; with --follow, in its own process."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from archive_world import write

from barnabas.cli.errors import CommandFailed
from barnabas.cli.main import run
from barnabas.cli.quantities import duration_s, size_bytes
from barnabas.history.errors import NoHistory
from barnabas.history.manifest import load
from barnabas.testing import Broker


def test_run_status_verify_retain(
    broker: Broker, barnabas_topic: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broker.create_topic(barnabas_topic)
    write(broker.bootstrap_servers, barnabas_topic, [b'{"n": 1}', b'{"n": 2}'])
    to = ["--to", str(tmp_path), "--topic", barnabas_topic]
    at = [*to, "-b", broker.bootstrap_servers]
    assert run(["archive", "run", *at, "--schema", "n INT", "--format", "json"]) == 0
    (row,) = json.loads(capfd.readouterr().out)
    assert (row["tiered_through"], row["files"], row["rows"], row["lost"]) == (2, 1, 2, 0)
    write(broker.bootstrap_servers, barnabas_topic, [b"later"])
    assert run(["archive", "status", *at, "--format", "json"]) == 0
    (row,) = json.loads(capfd.readouterr().out)
    assert (row["log_start"], row["last_stable"], row["behind"]) == (0, 3, 1)
    assert run(["archive", "status", "--to", str(tmp_path), "--offline"]) == 0
    assert "TIERED THROUGH" in capfd.readouterr().out
    assert run(["archive", "verify", *at]) == 0
    assert "1 range, 2 rows, 2 offsets compared with the log: no problem" in capfd.readouterr().err
    (file,) = (tmp_path / barnabas_topic).glob("*.parquet")
    file.write_bytes(b"PAR1")
    assert run(["archive", "verify", *to, "--offline"]) == 1
    said = capfd.readouterr()
    assert "SHA-256" in said.out
    assert "1 problem" in said.err
    assert run(["archive", "retain", *to, "--max-bytes", "0", "--format", "json"]) == 0
    assert json.loads(capfd.readouterr().out)[0]["files"] == 1
    assert not list((tmp_path / barnabas_topic).glob("*.parquet"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--topic", "nowhere"], "There is no topic nowhere"),
        (["run", "--topic", "nowhere", "--schema", "offset INT"], "no topic nowhere"),
        (["run", "--topic", "x", "--file-bytes", "many"], "--file-bytes"),
        (["run", "--topic", "x", "--file-age", "5 parsecs"], "duration"),
        (["status"], "there is no history"),
        (["verify", "--offline"], "there is no history"),
        (["retain"], "what to remove"),
        (["retain", "--older-than", "1d", "--topic", "x"], "There is no history of x"),
    ],
)
def test_failures_are_sentences_with_a_next_step(
    broker: Broker, tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    more = [] if arguments[0] == "retain" else ["-b", broker.bootstrap_servers]
    assert run(["archive", *arguments, "--to", str(tmp_path), *more]) == 1
    err = capfd.readouterr().err
    assert said in err
    assert "hint: " in err
    assert "Traceback" not in err


def test_following_ends_with_a_signal_and_leaves_nothing_unwritten(
    broker: Broker, barnabas_topic: str, tmp_path: Path
) -> None:
    broker.create_topic(barnabas_topic)
    write(broker.bootstrap_servers, barnabas_topic, [b"a"])
    command = [sys.executable, "-m", "barnabas", "archive", "run", "--follow", "--file-age", "0s"]
    command += ["-t", barnabas_topic, "-d", str(tmp_path), "-b", broker.bootstrap_servers]
    follower = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        _wait_until_tiered(tmp_path, barnabas_topic, 1)
        write(broker.bootstrap_servers, barnabas_topic, [b"b"])
        _wait_until_tiered(tmp_path, barnabas_topic, 2)
        follower.send_signal(signal.SIGTERM)
        assert follower.wait(30) == 0
    finally:
        follower.kill()
        follower.wait()


def _wait_until_tiered(history: Path, topic: str, offset: int) -> None:
    give_up_s = time.monotonic() + 60
    while True:
        try:
            if load(history, topic).tiered_through.get(0) == offset:
                return
        except NoHistory:
            pass
        assert time.monotonic() < give_up_s
        time.sleep(0.02)


def test_quantities_are_refused_with_the_name_of_the_option() -> None:
    with pytest.raises(CommandFailed, match="--older-than: `5` has no unit"):
        duration_s("--older-than", "5")
    with pytest.raises(CommandFailed, match="--max-bytes: `G` is not a unit of size"):
        size_bytes("--max-bytes", "5G")


def test_help_needs_no_pyarrow() -> None:
    program = (
        "import sys\nfrom barnabas.cli.main import run\nassert run(['archive', 'run', '--help']) == 0\n"
        "sys.exit(bool({'pyarrow', 'numpy', 'rich'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, stdout=subprocess.DEVNULL).returncode == 0
