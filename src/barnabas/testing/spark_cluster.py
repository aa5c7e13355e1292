"""A standalone Spark cluster on this machine: one master, some workers, each a process of its own, on loopback ports.

    with SparkCluster(workers=2) as cluster:
        spark = barnabas.spark.session(master=cluster.url)

Spark in local mode runs everything in one JVM; retries on other executors, speculation and the loss of a worker exist
only here. Every process is started in a session of its own (in the sense of `setsid`), by which its executors and
their Python workers are found again, so that a kill leaves nothing behind.
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
from types import TracebackType
from typing import Any, Self

from barnabas.portable.processes import command_line, running_processes
from barnabas.spark import class_archive
from barnabas.spark.home import spark_home
from barnabas.spark.java import SHORT_LIVED, find_java
from barnabas.spark.java_home import java_home
from barnabas.testing.ports import pick_free_port

HOST = "127.0.0.1"
START_TIMEOUT_S = 120.0
_LOOK_AGAIN_S = 0.1

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_EXECUTOR = "CoarseGrainedExecutorBackend"
_PYTHON_WORKERS = ("pyspark.daemon", "pyspark.worker", "pyspark/daemon", "pyspark/worker")


class ClusterDidNotStart(Exception):
    """With the last lines of the log of what did not start."""


class SparkWorker:
    """One worker: it starts an executor for each application, and executors start Python processes."""

    def __init__(self, start: "Callable[[int], _Process]") -> None:
        self._start = start
        self.start()

    def start(self) -> None:
        """`SparkCluster.wait_until_registered` waits until it is of use."""
        self.web_port = pick_free_port(HOST)
        """A new one with each start, so that the master's list tells this worker from the one that it was."""
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
        """SIGKILL for it, its executors and their Python workers: a machine is gone."""
        self._process.kill()

    def kill_executors(self) -> int:
        """SIGKILL for its executors and no more: the worker starts others. Returns how many there were."""
        executors = self.executors()
        for pid in executors:
            _signal(pid, signal.SIGKILL)
        return len(executors)

    def restart(self) -> None:
        """Kill it if it runs, and start it again."""
        self.kill()
        self.start()


class SparkCluster:
    def __init__(self, workers: int = 2, cores: int = 1, memory: str = "1g") -> None:
        """`cores` and `memory` are what each worker has to give to executors."""
        self._workers_wanted, self._cores, self._memory = workers, cores, memory
        self._home = Path(tempfile.mkdtemp(prefix="barnabas-spark-cluster-"))
        self._port, self._web_port = pick_free_port(HOST), pick_free_port(HOST)
        self._master: _Process | None = None
        self.workers: list[SparkWorker] = []

    @property
    def url(self) -> str:
        """What goes into `session(master=...)`."""
        return f"spark://{HOST}:{self._port}"

    @property
    def logs(self) -> Path:
        """Where the processes leave their logs; executors' are in `work`, below it."""
        return self._home

    def start(self) -> None:
        self._master = self._launch(
            "master", _MASTER, "--host", HOST, "--port", str(self._port), "--webui-port", str(self._web_port)
        )
        self._wait_until("the master answers", lambda: self._state() is not None)
        self.workers = [SparkWorker(self._worker_launcher(index)) for index in range(self._workers_wanted)]
        self.wait_until_registered()

    def wait_until_registered(self) -> None:
        """Until the master counts those workers as alive that run, and no others."""
        self._wait_until(
            "the master knows the workers that run",
            lambda: self._alive() == {worker.web_port for worker in self.workers if worker.is_running()},
        )

    def _alive(self) -> set[int]:
        """The workers that the master takes for alive, by their ports."""
        workers = (self._state() or {}).get("workers", [])
        return {int(worker["webuiaddress"].rpartition(":")[2]) for worker in workers if worker["state"] == "ALIVE"}

    def stop(self) -> None:
        """SIGKILL for everything: there is nothing in it that anybody would miss."""
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _worker_launcher(self, index: int) -> "Callable[[int], _Process]":
        # Each on an address of its own: Spark runs no second attempt of a task on the host where the first one runs.
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
            "JDK_JAVA_OPTIONS": os.environ.get("JDK_JAVA_OPTIONS", SHORT_LIVED),  # executors have it from their worker
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": host,
            "SPARK_LOCAL_DIRS": str(self._home / "local"),
            "SPARK_DAEMON_MEMORY": "256m",  # of master and worker, which only keep the books
        }
        command = [str(home / "bin" / "spark-class"), main_class, *arguments]
        return _Process(command, environment, self._home / f"{name}.log")

    def _state(self) -> dict[str, Any] | None:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self._web_port}/json/", timeout=10) as answer:
                state: dict[str, Any] = json.load(answer)
        except OSError:
            return None
        return state

    def _wait_until(self, what: str, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not condition():
            if time.monotonic() > deadline or (self._master is not None and not self._master.is_running()):
                logs = "\n".join(f"{log.name}: {_end_of(log)}" for log in sorted(self._home.glob("*.log")))
                raise ClusterDidNotStart(f"it is not so yet that {what}; the logs end with:\n{logs}")
            time.sleep(_LOOK_AGAIN_S)


class _Process:
    """A process and all that it started, which are those of the same session."""

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
        """Its own process id, and those of all that descend from it and still run."""
        return [process.pid for process in running_processes() if process.session == self.pid]

    def kill(self) -> None:
        while family := self.family():  # again and again: one of them may just have started another
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
