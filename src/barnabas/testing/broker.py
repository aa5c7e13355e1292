"""A broker for a test: `with Broker() as broker: ... broker.bootstrap_servers`.

By default it runs in a thread of this process, which starts fastest. `Broker(process=True)` is a process that can be
killed, paused and restarted, on the same port and with the same data. Both are complete brokers, on a free port of
127.0.0.1, with a temporary data directory that is removed at the end. With `Broker(clock=VirtualClock())` time passes
only when the test says so.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Self

from barnabas.testing.client import Client, create_topic
from barnabas.testing.clock import VirtualClock
from barnabas.testing.ports import is_free, pick_free_port
from barnabas.testing.process_runner import ProcessRunner
from barnabas.testing.runner import BrokerDidNotStart, Runner
from barnabas.testing.thread_runner import ThreadRunner

HOST = "127.0.0.1"

# Defaults for tests: groups form at once, and internal topics have 5 partitions instead of 50, which are created,
# loaded and closed ten times as fast.
TEST_PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "5",
}
# With a virtual clock, the broker stamps the records: clients would stamp them with the machine's time.
VIRTUAL_TIME_PROPERTIES = {"log.message.timestamp.type": "LogAppendTime"}

_START_ATTEMPTS = 5

Property = str | int | float | bool


class Broker:
    def __init__(
        self,
        *,
        process: bool = False,
        properties: Mapping[str, Property] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        clock: VirtualClock | None = None,
        crash_at: str | None = None,
        fault: str | None = None,
    ) -> None:
        """`clock`: the broker's time, see `clock_driver`; not with `process`.

        `crash_at`: the broker process kills itself at this step, see `crashing_disk`.

        `fault`: build a defect into the broker process, see `faulty_serve`.
        """
        if process and clock is not None:
            raise ValueError("a virtual clock needs a broker in this process: leave out process=True, or the clock")
        defaults = TEST_PROPERTIES if clock is None else TEST_PROPERTIES | VIRTUAL_TIME_PROPERTIES
        self.properties: dict[str, Property] = {**defaults, **(properties or {})}
        """By Kafka's names; changes apply at the next start."""
        self.port = 0
        self._home = tempfile.mkdtemp(prefix="barnabas-")
        self.data_dir = os.path.join(self._home, "data") if data_dir is None else os.fspath(data_dir)
        self._process = ProcessRunner(os.path.join(self._home, "stderr")) if process else None
        if crash_at is not None:
            self.crash_at(crash_at)
        if fault is not None:
            self._own_process("fault").fault = fault
        if clock is not None:
            clock.start_at_machine_time()
        self._runner: Runner = self._process or ThreadRunner(clock)

    @property
    def bootstrap_servers(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        return self._own_process("a pid").pid

    def start(self) -> None:
        """Start on the same port as before, or on a free one."""
        for attempt in range(_START_ATTEMPTS):
            port = self.port or pick_free_port(HOST)
            try:
                self.port = self._runner.start(self._all_properties(port))
            except BrokerDidNotStart:
                # Another process may have taken the port before the broker could bind it: then try another port.
                if self.port or is_free(port, HOST) or attempt == _START_ATTEMPTS - 1:
                    raise
            else:
                return

    def stop(self) -> None:
        """Stop cleanly (in process mode: SIGTERM, and wait for status 0)."""
        self._runner.stop()

    def restart(self) -> None:
        """Stop cleanly if it is running, and start on the same port with the same data."""
        self.stop()
        self.start()

    def kill(self) -> None:
        """SIGKILL."""
        self._own_process("kill()").kill()

    def crash_at(self, point: str | None, *, steps_path: str | None = None) -> None:
        """From the next start on, the broker kills itself (SIGKILL) at this step of its disk I/O; None: no more.

        With `steps_path` it appends the names of its steps to that file.
        """
        process = self._own_process("crash_at()")
        process.crash_at, process.steps_path = point, steps_path

    def pause(self) -> None:
        """SIGSTOP: it keeps its connections, but does not answer."""
        self._own_process("pause()").pause()

    def resume(self) -> None:
        self._own_process("resume()").resume()

    def is_running(self) -> bool:
        return self._runner.is_running()

    def wait_for_end(self, timeout_s: float) -> bool:
        """Wait for the process to end by itself, as with `crash_at`; whether it did."""
        return self._own_process("wait_for_end()").wait_for_end(timeout_s)

    def connect(self, *, client_id: str | None = "barnabas-testing", timeout_s: float = 10.0) -> Client:
        """A connection that speaks the protocol request by request, for tests of the protocol."""
        return Client(HOST, self.port, client_id=client_id, timeout_s=timeout_s)

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        with self.connect() as client:
            create_topic(client, name, partitions=partitions, config=config)

    def close(self) -> None:
        """Stop, and remove the temporary directory."""
        try:
            self.stop()
        finally:
            shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            shutil.rmtree(self._home, ignore_errors=True)
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _all_properties(self, port: int) -> dict[str, str]:
        given = {name: _as_text(value) for name, value in self.properties.items()}
        return {**given, "listeners": f"PLAINTEXT://{HOST}:{port}", "log.dirs": self.data_dir}

    def _own_process(self, what: str) -> ProcessRunner:
        if self._process is None:
            raise RuntimeError(f"{what} needs a broker in its own process: use Broker(process=True)")
        return self._process


def _as_text(value: Property) -> str:
    """As in a properties file: Kafka writes `true`, not `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
