"""The processes of the demo. Each runs in its own session, and leaves nothing running."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from barnabas.portable.processes import command_line, running_processes
from demo.plan import Plan

ROOT = Path(__file__).parent.parent
_REPORTS_FOR_RATE = 12


class SenderProcess:
    """A thread reads its reports. The facts are replaced as a whole, so readers need no lock."""

    def __init__(self, plan: Plan, servers: str, notes: Path, start_ms: int) -> None:
        self._facts: dict[str, int] = {}
        self._history: deque[tuple[float, int]] = deque(maxlen=_REPORTS_FOR_RATE)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "demo.sender", servers, str(notes), str(start_ms), *plan.as_arguments()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def count(self, fact: str) -> int:
        return self._facts.get(fact, 0)

    def rate(self) -> float:
        """Acknowledged events per second, over the last reports."""
        reports = list(self._history)
        if len(reports) < 2:
            return 0.0
        (then, before), (now, count) = reports[0], reports[-1]
        return (count - before) / (now - then)

    def ask_to_finish(self) -> None:
        """Let it send the events that close all windows, and end."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()

    def wait(self) -> int:
        status = self._process.wait()
        self._reader.join()
        return status

    def close(self) -> None:
        """Kill it, whatever state it is in."""
        if self.is_alive():
            self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._facts = json.loads(line)
            self._history.append((time.monotonic(), self._facts["acked"]))


class PipelineProcess:
    """A command of `barnabas pipeline`. Its output goes to a file.

    A kill ends the Python program and its JVM, but not at once the processes they started: Python workers end when they
    next read or write.
    """

    def __init__(self, folder: Path, servers: str, log: Path) -> None:
        self._environment = {**os.environ, "BOOTSTRAP": servers, "NO_COLOR": "1", "COLUMNS": "100"}
        self._folder = folder
        self._log = log
        self._popen: subprocess.Popen[bytes] | None = None
        self._sessions: list[int] = []
        self.starts = 0

    @property
    def pid(self) -> int:
        assert self._popen is not None
        return self._popen.pid

    def start(self, *command: str, environment: Mapping[str, str] | None = None) -> None:
        self.starts += 1
        with open(self._log, "ab") as output:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "barnabas", "pipeline", *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env={**self._environment, **(environment or {})},
                start_new_session=True,
            )
        self._sessions.append(self._popen.pid)

    def is_running(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    def status(self) -> int | None:
        return None if self._popen is None else self._popen.poll()

    def ask_to_stop(self) -> None:
        if self.is_running():
            os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL for the program and its JVM."""
        if self.is_running():
            os.killpg(self.pid, signal.SIGKILL)
        if self._popen is not None:
            self._popen.wait()

    def python_workers(self) -> list[int]:
        """The processes in which tasks, sources and sinks run."""
        return [pid for pid in _of_sessions([self.pid]) if _is_python_worker(pid)]

    def close(self) -> None:
        """SIGKILL for all remaining processes of it and its workers, of every start."""
        self.kill()
        for pid in _of_sessions(self._sessions):
            _kill(pid)

    def output(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""


def set_flags(settings: Mapping[str, str]) -> list[str]:
    """Flags that override settings of pipeline.yaml."""
    return [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]


def _is_python_worker(pid: int) -> bool:
    command = command_line(pid)
    return "pyspark" in command and "java" not in command.partition(" ")[0]


def _of_sessions(sessions: Sequence[int]) -> list[int]:
    wanted = set(sessions)
    return [process.pid for process in running_processes() if process.session in wanted]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
