"""The two servers under test: one process each, on a free port of the loopback, with its own directory.

Both run with their defaults. Apache Kafka runs as a combined broker and controller with a heap of 1 GB, as its own
start script gives it.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from barnabas.testing.ports import pick_free_port
from bench.frames import api_versions_frame
from bench.java import java
from bench.sockets import HOST, connect, round_trip

ROOT = Path(__file__).parent.parent
BARNABAS = "barnabas"
KAFKA = "kafka"

_START_TIMEOUT_S = 900.0
_STOP_TIMEOUT_S = 900.0  # 10,000 partitions are 10,000 syncs, and disks differ
_POLL_S = 0.002


class DidNotStart(Exception):
    pass


class Server:
    """A server's process. `prepare` creates its directory, `start` the process; it may be killed and restarted."""

    name: str

    def __init__(self, home: Path, properties: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.data_dir = home / "data"
        self.properties = dict(properties or {})
        self.port = pick_free_port(HOST)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def command(self) -> list[str]:
        raise NotImplementedError

    def prepare(self) -> None:
        self.home.mkdir(parents=True)

    def start(self) -> None:
        """Only starts the process, without waiting until it is ready."""
        # An installed Barnabas has compiled bytecode, as Apache Kafka has: the first start writes it.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with open(self.home / "output", "ab") as output:
            self._process = subprocess.Popen(
                self.command(),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=ROOT,
                start_new_session=True,
            )

    def wait_until_ready(self) -> None:
        def answers() -> None:
            with connect(self.port) as connection:
                round_trip(connection, api_versions_frame())

        self.retry(answers)

    def retry(self, attempt: Callable[[], None]) -> None:
        """Retry until it succeeds, the process ends, or the timeout is over."""
        deadline = time.monotonic() + _START_TIMEOUT_S
        while True:
            try:
                return attempt()
            except Exception as error:
                if self._process is None or self._process.poll() is not None or time.monotonic() > deadline:
                    raise DidNotStart(f"{self.name} does not serve: {error}\n{self._output_tail()}") from error
            time.sleep(_POLL_S)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """End the process, whatever its state, and delete its files."""
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self) -> Self:
        self.prepare()
        try:
            self.start()
            self.wait_until_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _end(self, signal_number: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal_number)
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def _output_tail(self) -> str:
        return (self.home / "output").read_text(errors="replace")[-3000:]


class Barnabas(Server):
    name = BARNABAS

    def command(self) -> list[str]:
        options = {"listeners": f"PLAINTEXT://{HOST}:{self.port}", "log.dirs": str(self.data_dir), **self.properties}
        settings = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
        return [sys.executable, "-m", "barnabas", "serve", *settings]


class Kafka(Server):
    name = KAFKA

    def command(self) -> list[str]:
        return [*java(heap_mb=1024), "kafka.Kafka", str(self._properties_path)]

    def prepare(self) -> None:
        super().prepare()
        controller_port = pick_free_port(HOST)
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{HOST}:{controller_port}",
            "listeners": f"PLAINTEXT://{HOST}:{self.port},CONTROLLER://{HOST}:{controller_port}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data_dir),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            **self.properties,
        }
        self._properties_path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        format_command = ["kafka.tools.StorageTool", "format", "-t", "hlmOFiFSRu2QpP7_8hP1vQ", "-c"]
        subprocess.run(
            [*java(heap_mb=1024), *format_command, str(self._properties_path)],
            check=True,
            capture_output=True,
            cwd=self.home,
        )

    @property
    def _properties_path(self) -> Path:
        return self.home / "server.properties"


SERVERS: Mapping[str, type[Server]] = {BARNABAS: Barnabas, KAFKA: Kafka}
