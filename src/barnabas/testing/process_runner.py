"""Runs a broker as `python -m barnabas serve`: a process to kill, pause and restart.

With `crash_at` it is `python -m barnabas.testing.crashing_serve`, with `fault` it is
`python -m barnabas.testing.faulty_serve`.
"""

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping

from barnabas.testing.runner import BrokerDidNotStart

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0


class ProcessRunner:
    def __init__(self, stderr_path: str) -> None:
        self._stderr_path = stderr_path
        """The file for the broker's stderr, which says why a broker did not start."""
        self.crash_at: str | None = None
        """The crash point of the next broker, see `CrashPoint.parse`."""
        self.steps_path: str | None = None
        """The file to which the next broker appends the names of its steps."""
        self.fault: str | None = None
        """The defect of the next broker, see `faulty_serve`."""
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self, properties: Mapping[str, str]) -> int:
        self._forget_if_exited()
        command, environment = self._command()
        for name, value in properties.items():
            command += ["--set", f"{name}={value}"]
        with open(self._stderr_path, "ab") as stderr:
            # In its own session: Ctrl-C in the terminal must not stop it before the test run does.
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        if not _is_readable_within(self._process.stdout.fileno(), START_TIMEOUT_S):
            self.kill()
            raise BrokerDidNotStart(f"the broker is not ready after {START_TIMEOUT_S:.0f} s: {self._stderr_tail()}")
        if not self._process.stdout.readline():  # it closed stdout without saying that it is ready
            self.kill()
            raise BrokerDidNotStart(self._stderr_tail())
        return _port_of(properties["listeners"])

    def _command(self) -> tuple[list[str], dict[str, str]]:
        environment = dict(os.environ)
        if self.fault is not None:
            environment["BARNABAS_FAULT"] = self.fault
            return [sys.executable, "-m", "barnabas.testing.faulty_serve"], environment
        if self.crash_at is None and self.steps_path is None:
            return [sys.executable, "-m", "barnabas", "serve"], environment
        if self.crash_at is not None:
            environment["BARNABAS_CRASH_AT"] = self.crash_at
        if self.steps_path is not None:
            environment["BARNABAS_CRASH_STEPS"] = self.steps_path
        return [sys.executable, "-m", "barnabas.testing.crashing_serve"], environment

    def _forget_if_exited(self) -> None:
        """Forget a process that has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            _close_pipe(self._process)
            self._process = None

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is not None:
            _close_pipe(process)
            return
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            status = process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise RuntimeError(f"the broker did not stop within {STOP_TIMEOUT_S:.0f} s of SIGTERM") from None
        finally:
            _close_pipe(process)
        if status != 0:
            raise RuntimeError(f"the broker ended with status {status}: {self._stderr_tail()}")

    def kill(self) -> None:
        process = self._running()
        process.kill()
        process.wait()
        _close_pipe(process)
        self._process = None

    def pause(self) -> None:
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._running().send_signal(signal.SIGCONT)

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def wait_for_end(self, timeout_s: float) -> bool:
        if self._process is None:
            return True
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is None:
            raise RuntimeError("the broker is not running: call start() or restart() first")
        return self._process

    def _stderr_tail(self) -> str:
        with open(self._stderr_path, "rb") as stderr:
            stderr.seek(max(0, os.path.getsize(self._stderr_path) - 4000))
            return stderr.read().decode(errors="replace").strip()


def _port_of(listeners: str) -> int:
    return int(listeners.rpartition(":")[2])


def _close_pipe(process: "subprocess.Popen[str]") -> None:
    if process.stdout is not None:
        process.stdout.close()


def _is_readable_within(descriptor: int, timeout_s: float) -> bool:
    with selectors.DefaultSelector() as waiting:
        waiting.register(descriptor, selectors.EVENT_READ)
        return bool(waiting.select(timeout_s))
