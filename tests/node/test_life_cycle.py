"""Starting and stopping `barnabas serve`: its output, its files, and its errors."""

import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from plain_requests import LATEST, commit_offset, committed_offset, list_offset, produce, read_all

from barnabas.testing import Broker
from barnabas.testing.ports import pick_free_port
from barnabas.wire.errors import ErrorCode

MARKER = ".kafka_cleanshutdown"


def serve(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run `barnabas serve`, which is expected to fail."""
    command = [sys.executable, "-m", "barnabas", "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def assert_refused(result: "subprocess.CompletedProcess[str]", *words: str) -> None:
    assert result.returncode == 1, result
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0].startswith("error: "), result.stderr
    assert len(lines) <= 2, result.stderr
    assert "Traceback" not in result.stderr
    assert "None" not in result.stderr
    for word in words:
        assert word in result.stderr, result.stderr


def test_sigterm_closes_cleanly_and_the_next_start_finds_everything(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with Broker(process=True, data_dir=data_dir) as broker:
        assert not (data_dir / MARKER).exists(), "the marker must go before the first write"
        broker.create_topic("t", partitions=2, config={"internal.segment.bytes": "1000"})
        with broker.connect() as client:
            for number in range(30):
                answer = produce(client, "t", [b"%d" % number] * 3)
                assert answer.error_code == ErrorCode.none, answer.error_message
            assert commit_offset(client, "g", "t", 17) == ErrorCode.none
        broker.stop()  # fails unless the status is 0
        assert (data_dir / MARKER).exists()
        checkpoint = (data_dir / "recovery-point-offset-checkpoint").read_text()
        assert "t 0 90\n" in checkpoint
        broker.start()
        assert not (data_dir / MARKER).exists()
        with broker.connect() as client:
            assert [record.value for record in read_all(client, "t")] == [b"%d" % (n // 3) for n in range(90)]
            assert list_offset(client, "t", LATEST, partition=1) == 0
            assert committed_offset(client, "g", "t") == 17


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_status_0_although_clients_are_connected(tmp_path: Path, signal_number: int) -> None:
    port = pick_free_port()
    command = [sys.executable, "-m", "barnabas", "serve", "--listen", f"127.0.0.1:{port}"]
    with subprocess.Popen(
        [*command, "--data-dir", str(tmp_path / "data")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        ready = process.stdout.readline()
        with socket.create_connection(("127.0.0.1", port)):
            process.send_signal(signal_number)
            assert process.wait(20) == 0
        assert process.stdout.read() == ""
        assert process.stderr.read() == ""
    assert f"127.0.0.1:{port}" in ready
    assert str(tmp_path / "data") in ready
    assert (tmp_path / "data" / MARKER).exists()


def test_a_stop_after_a_crash_is_clean_once_every_log_was_recovered(tmp_path: Path) -> None:
    """A log is recovered when it is first opened: until then its directory does not count as clean."""
    with Broker(process=True, data_dir=tmp_path / "data") as broker:
        broker.create_topic("t", partitions=4)
        with broker.connect() as client:
            for partition in range(4):
                assert produce(client, "t", [b"x"], partition=partition).error_code == ErrorCode.none
        broker.kill()
        broker.start()
        broker.stop()
        assert not (tmp_path / "data" / MARKER).exists()
        broker.start()
        with broker.connect() as client:
            assert [list_offset(client, "t", LATEST, partition=n) for n in range(4)] == [1] * 4
        broker.stop()
        assert (tmp_path / "data" / MARKER).exists()


def test_two_brokers_do_not_share_a_directory(tmp_path: Path) -> None:
    with Broker(process=True, data_dir=tmp_path / "data") as broker:
        second = serve("--listen", f"127.0.0.1:{pick_free_port()}", "--data-dir", str(tmp_path / "data"))
        assert_refused(second, str(tmp_path / "data"), "in use by another process", "log.dirs")
        broker.create_topic("t")
        with broker.connect() as client:
            assert produce(client, "t", [b"the first one still works"]).error_code == ErrorCode.none


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = serve("--listen", f"127.0.0.1:{port}", "--data-dir", str(tmp_path / "data"))
    assert_refused(result, f"127.0.0.1:{port} is in use", "--listen")
    # The failed attempt does not prevent the next one.
    with Broker(process=True, data_dir=tmp_path / "data") as broker:
        assert broker.is_running()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "num.partition=3"], ["num.partition", "did you mean num.partitions?"]),
        (["--set", "num.partitions=many"], ["num.partitions", "many"]),
        (["--set", "num.partitions=0"], ["num.partitions"]),
        (["--set", "listeners=SSL://localhost:9093"], ["PLAINTEXT"]),
        (["--set", "listeners=localhost:9092"], ["NAME://HOST:PORT"]),
        (["--set", "advertised.listeners=PLAINTEXT://0.0.0.0:9092"], ["0.0.0.0", "advertised.listeners"]),
        (["--listen", "9092"], ["HOST:PORT"]),
        (["--config", "/nonexistent.properties"], ["/nonexistent.properties"]),
    ],
)
def test_a_wrong_setting_is_explained(tmp_path: Path, arguments: Sequence[str], words: Sequence[str]) -> None:
    result = serve("--data-dir", str(tmp_path / "data"), *arguments)
    assert_refused(result, *words)
    assert not (tmp_path / "data").exists(), "a refused configuration leaves nothing behind"


def test_an_unusable_data_directory(tmp_path: Path) -> None:
    listen = ("--listen", f"127.0.0.1:{pick_free_port()}")
    # Nobody may make directories there, not even root.
    assert_refused(serve(*listen, "--data-dir", "/proc/barnabas"), "/proc/barnabas", "--data-dir")
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    assert_refused(serve(*listen, "--data-dir", str(in_the_way)), str(in_the_way), "--data-dir")
    assert_refused(serve(*listen, "--data-dir", str(in_the_way / "below")), str(in_the_way), "--data-dir")


def test_a_directory_of_another_node_is_refused_and_left_alone(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with Broker(process=True, data_dir=data_dir) as broker:
        broker.create_topic("t")
        broker.stop()
        properties = (data_dir / "meta.properties").read_bytes()
        listen = ("--listen", f"127.0.0.1:{pick_free_port()}")
        assert_refused(serve(*listen, "--data-dir", str(data_dir), "--set", "node.id=7"), str(data_dir), "node 7")
        assert (data_dir / "meta.properties").read_bytes() == properties
        broker.start()


def test_meta_properties_that_cannot_be_read_are_not_replaced(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    (data_dir / "meta.properties").write_bytes(b"\xff\xfe garbage")
    result = serve("--listen", f"127.0.0.1:{pick_free_port()}", "--data-dir", str(data_dir))
    assert_refused(result, "meta.properties")
    assert (data_dir / "meta.properties").read_bytes() == b"\xff\xfe garbage"


def test_the_ready_line_names_every_listener(tmp_path: Path) -> None:
    ports = pick_free_port("127.0.0.1"), pick_free_port("127.0.0.1")
    listeners = f"ONE://127.0.0.1:{ports[0]},TWO://127.0.0.1:{ports[1]}"
    settings = {
        "listeners": listeners,
        "listener.security.protocol.map": "ONE:PLAINTEXT,TWO:PLAINTEXT",
        "inter.broker.listener.name": "ONE",
    }
    options = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "barnabas", "serve", "--data-dir", str(tmp_path), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
    assert f"is ready on 127.0.0.1:{ports[0]} and 127.0.0.1:{ports[1]} (data in {tmp_path})" in line
