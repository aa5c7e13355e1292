"""A standalone Spark cluster on this machine: a master and workers, each in its own process, on loopback ports.

    with SparkCluster(workers=2) as cluster:
        spark = barnabas.spark.session(master=cluster.url)

In local mode Spark runs everything in one JVM; retries on other executors, speculation and the loss of a worker can
only be tested with a cluster. Every process is started in its own session (`setsid`), by which its executors and their
Python workers are found, so that a kill leaves nothing behind.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from barnabas.portable.processes import command_line, running_processes
from barnabas.spark import class_archive
from barnabas.spark.java import SHORT_LIVED, find_java
from barnabas.spark.java_home import java_home
from barnabas.spark.spark_home import spark_home
from barnabas.testing.ports import pick_free_port

HOST = "127.0.0.1"
START_TIMEOUT_S = 120.0
_CHECK_EVERY_S = 0.1

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_EXECUTOR = "CoarseGrainedExecutorBackend"
_PYTHON_WORKERS = ("pyspark.daemon", "pyspark.worker", "pyspark/daemon", "pyspark/worker")


class ClusterDidNotStart(Exception):
    """The message ends with the last lines of the log."""


class SparkWorker:
    """One worker: it starts an executor for each application, and executors start Python processes."""

    def __init__(self, start: "Callable[[int], _Process]") -> None:
        self._start = start
        self.start()

    def start(self) -> None:
        """Call `SparkCluster.wait_until_registered` before using it."""
        self.web_port = pick_free_port(HOST)
        """A new port for each start, so that the master's list tells it from the worker before the restart."""
        self._process = self._start(self.web_port)

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_running(self) -> bool:
        return self._process.is_running()

    def executors(self) -> list[int]:
        """The process ids of its executors."""
        return [pid for pid in self._process.family() if _EXECUTOR in command_line(pid)]

    def python_workers(self) -> list[int]:
        """The process ids of all Python processes in which its tasks run."""
        return [pid for pid in self._process.family() if any(name in command_line(pid) for name in _PYTHON_WORKERS)]

    def kill(self) -> None:
        """SIGKILL for the worker, its executors and their Python workers, as if a machine failed."""
        self._process.kill()

    def kill_executors(self) -> int:
        """SIGKILL for its executors only: the worker starts new ones. Returns how many were killed."""
        executors = self.executors()
        for pid in executors:
            _signal(pid, signal.SIGKILL)
        return len(executors)

    def restart(self) -> None:
        """Kill it if it is running, and start it again."""
        self.kill()
        self.start()


class SparkCluster:
    def __init__(self, workers: int = 2, cores: int = 1, memory: str = "1g") -> None:
        """`cores` and `memory`: what each worker offers to executors."""
        self._workers_wanted, self._cores, self._memory = workers, cores, memory
        self._home = Path(tempfile.mkdtemp(prefix="barnabas-spark-cluster-"))
        self._port, self._web_port = pick_free_port(HOST), pick_free_port(HOST)
        self._master: _Process | None = None
        self.workers: list[SparkWorker] = []

    @property
    def url(self) -> str:
        """For `session(master=...)`."""
        return f"spark://{HOST}:{self._port}"

    @property
    def logs(self) -> Path:
        """The folder with the logs of the processes; those of executors are in its folder `work`."""
        return self._home

    def start(self) -> None:
        self._master = self._launch(
            "master", _MASTER, "--host", HOST, "--port", str(self._port), "--webui-port", str(self._web_port)
        )
        self._wait_until("the master answers", lambda: self._state() is not None)
        self.workers = [SparkWorker(self._worker_launcher(index)) for index in range(self._workers_wanted)]
        self.wait_until_registered()

    def wait_until_registered(self) -> None:
        """Wait until the master lists exactly the running workers as alive."""
        self._wait_until(
            "the master knows the workers that run",
            lambda: self._alive() == {worker.web_port for worker in self.workers if worker.is_running()},
        )

    def _alive(self) -> set[int]:
        """The ports of the workers that the master lists as alive."""
        workers = (self._state() or {}).get("workers", [])
        return {int(worker["webuiaddress"].rpartition(":")[2]) for worker in workers if worker["state"] == "ALIVE"}

    def stop(self) -> None:
        """SIGKILL for all processes."""
        for worker in self.workers:
            worker.kill()
        if self._master is not None:
            self._master.kill()
        self.workers, self._master = [], None

    def close(self) -> None:
        """Stop, and remove the logs."""
        self.stop()
        shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _worker_launcher(self, index: int) -> "Callable[[int], _Process]":
        # Each on its own address: Spark does not run a second attempt of a task on the host of the first one.
        host = f"127.0.0.{index + 1}"
        arguments = ["--host", host, "--cores", str(self._cores), "--memory", self._memory]
        arguments += ["--work-dir", str(self._home / "work" / str(index))]
        return lambda web_port: self._launch(
            f"worker-{index}", _WORKER, *arguments, "--webui-port", str(web_port), self.url, host=host
        )

    def _launch(self, name: str, main_class: str, *arguments: str, host: str = HOST) -> "_Process":
        home = spark_home()
        java = find_java()
        environment = {
            **os.environ,
            "JAVA_HOME": str(java_home(java)),
            "SPARK_DAEMON_JAVA_OPTS": class_archive.java_options(java),
            "JDK_JAVA_OPTIONS": os.environ.get("JDK_JAVA_OPTIONS", SHORT_LIVED),  # executors inherit it
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": host,
            "SPARK_LOCAL_DIRS": str(self._home / "local"),
            "SPARK_DAEMON_MEMORY": "256m",  # for master and worker, which need little
        }
        command = [str(home / "bin" / "spark-class"), main_class, *arguments]
        return _Process(command, environment, self._home / f"{name}.log")

    def _state(self) -> dict[str, Any] | None:
        return master_state(self._web_port)

    def _wait_until(self, what: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not condition():
            if time.monotonic() > deadline or (self._master is not None and not self._master.is_running()):
                logs = "\n".join(f"{log.name}: {_end_of(log)}" for log in sorted(self._home.glob("*.log")))
                raise ClusterDidNotStart(f"timed out waiting until {what}; the logs end with:\n{logs}")
            time.sleep(_CHECK_EVERY_S)


def master_state(web_port: int) -> dict[str, Any] | None:
    """What the master knows of its workers; None while it does not listen, or has no answer but its page yet."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{web_port}/json/", timeout=10) as answer:
            state: dict[str, Any] = json.load(answer)
    except (OSError, json.JSONDecodeError):
        return None
    return state


class _Process:
    """A process and its descendants, found by their session."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        with open(log, "ab") as output:
            self._popen = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._popen.pid

    def is_running(self) -> bool:
        return self._popen.poll() is None

    def family(self) -> list[int]:
        """The process ids of this process and of its running descendants."""
        return [process.pid for process in running_processes() if process.session == self.pid]

    def kill(self) -> None:
        while family := self.family():  # repeatedly: one of them may just have started another
            for pid in family:
                _signal(pid, signal.SIGKILL)
            self._popen.poll()
        self._popen.wait()


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-2000:].strip()
