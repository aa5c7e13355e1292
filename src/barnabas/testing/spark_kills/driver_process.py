"""The driver as a process that can be killed and restarted from its checkpoint."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from barnabas.portable.processes import running_processes


class DriverProcess:
    """In its own session. A kill ends the Python program and the JVM, but not their Python workers: these notice it at
    their next read or write, like those of a machine that was cut off.
    """

    def __init__(self, settings: dict[str, Any], log: Path) -> None:
        self._settings = settings
        self._log = log
        self._popen: subprocess.Popen[bytes] | None = None
        self.starts = 0

    @property
    def pid(self) -> int:
        assert self._popen is not None
        return self._popen.pid

    def start(self, **changes: Any) -> None:
        self.starts += 1
        arguments = json.dumps({**self._settings, **changes})
        with open(self._log, "ab") as output:
            output.write(f"--- start {self.starts}\n".encode())
            output.flush()
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "barnabas.testing.spark_kills.driver", arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def is_running(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    def is_started(self) -> bool:
        """Whether its query has started."""
        return self._log.read_text(errors="replace").rpartition("--- start ")[2].count("\nstarted\n") > 0

    def kill(self) -> None:
        """SIGKILL for the program and its JVM."""
        if self.is_running():
            os.killpg(self.pid, signal.SIGKILL)
            assert self._popen is not None
            self._popen.wait()

    def close(self) -> None:
        """SIGKILL for all remaining processes of the session."""
        if self._popen is None:
            return
        self.kill()
        for process in running_processes():
            if process.session == self.pid:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)

    def log_end(self) -> str:
        return self._log.read_text(errors="replace")[-3000:]
