"""Apache Kafka's own server, as a combined broker and controller on a directory that may be ours."""

import re
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kafka_tools import KafkaTools, java
from peers import Peers

from barnabas.testing.ports import pick_free_port

CLUSTER_ID: Final = "MkU3OEVBNTcwNTJENDM2Qk"
NODE_ID: Final = 1
START_SECONDS_MAX: Final = 60.0
STOP_SECONDS_MAX: Final = 30.0

# A single node. After a crash Kafka waits for the session of the old broker to expire. It checkpoints deleted records
# now and then; here often enough for tests that kill it.
_PROPERTIES: Final = {
    "process.roles": "broker,controller",
    "node.id": str(NODE_ID),
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "1000",
    "log.initial.task.delay.ms": "100",
    "log.flush.start.offset.checkpoint.interval.ms": "100",
    "log.cleaner.backoff.ms": "200",
}


class KafkaServer:
    def __init__(
        self,
        peers: Peers,
        data_dir: Path,
        home: Path,
        *,
        properties: Mapping[str, str] | None = None,
        static_voters: bool = False,
        listeners: Iterable[str] = (),
        plugins: Sequence[Path] = (),
    ) -> None:
        """Voters are recorded in the quorum (kraft.version 1), or in every node's configuration (0).

        `listeners`: security protocols to listen with besides PLAINTEXT, each with its entry in `addresses`.
        `plugins`: directories with classes that `properties` name.
        """
        port, controller_port = pick_free_port(), pick_free_port()
        self.bootstrap_servers = f"127.0.0.1:{port}"
        self.addresses = {protocol: f"127.0.0.1:{pick_free_port()}" for protocol in listeners}
        more = "".join(f",{protocol}://{address}" for protocol, address in self.addresses.items())
        self._peers = peers
        self._static_voters = static_voters
        self._plugins = plugins
        self.controller = controller = f"127.0.0.1:{controller_port}"
        voters = {"controller.quorum.voters": f"{NODE_ID}@{controller}"}
        self._properties = {
            **_PROPERTIES,
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://{controller}{more}",
            **(voters if static_voters else {"controller.quorum.bootstrap.servers": controller}),
            "log.dirs": str(data_dir),
            **(properties or {}),
        }
        home.mkdir(parents=True, exist_ok=True)
        self.property_file = home / "server.properties"
        self._log_file = home / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def common_properties(self) -> dict[str, str]:
        """What a Barnabas broker takes as well, for comparisons: all but the places of files and sockets."""
        places = ("listeners", "log.dirs", "controller.listener.names", "controller.quorum.bootstrap.servers")
        return {name: value for name, value in self._properties.items() if name not in places}

    def add(self, properties: Mapping[str, str]) -> None:
        self._properties |= properties

    def format(self, tools: KafkaTools) -> None:
        self._write_properties()
        how = () if self._static_voters else ("--standalone",)
        tools.run("StorageTool", "format", *how, "--cluster-id", CLUSTER_ID, "--config", self.property_file)

    def start(self) -> None:
        """Returns when the server is ready."""
        self._write_properties()
        command = java([*self._plugins, self._peers.kafka_jars / "*"], heap_mb=512, log_level="info")
        with open(self._log_file, "wb") as log:
            self._process = subprocess.Popen(
                [*command, "kafka.Kafka", str(self.property_file)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        deadline = time.monotonic() + START_SECONDS_MAX
        while "Kafka Server started" not in self.log():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"Apache Kafka did not start:\n{self.log()[-6000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """SIGTERM, and wait for the end of the controlled shutdown."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.wait(STOP_SECONDS_MAX)

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def log(self) -> str:
        return self._log_file.read_text(errors="replace")

    def complaints(self) -> list[str]:
        """Log lines at WARN and above, except for those of every normal start and stop of a single node.

        Its controller moves all partitions from the broker's previous registration to the next one, and coordinators
        that were loading log it. On a busy machine its heartbeats are late.
        """
        usual = "Performing controller activation|that has already been closed|no longer the leader|"
        usual += "Timed out heartbeat|REQUEST_TIMED_OUT"
        level = re.compile(r"^\S+ (WARN|ERROR|FATAL) ")
        return [line for line in self.log().splitlines() if level.match(line) and not re.search(usual, line)]

    def _write_properties(self) -> None:
        text = "".join(f"{name}={value}\n" for name, value in self._properties.items())
        self.property_file.write_text(text)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self.kill()
