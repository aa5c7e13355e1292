"""The actors as the stage sees them: processes, and the last thing each of them reported."""

import json
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_RATE_WINDOW_S = 2.0


class Actor:
    """A child process whose reports are read by a thread. Each fact is replaced whole, so reading needs no lock."""

    def __init__(self, module: str, name: str, *arguments: object) -> None:
        self.name = name
        self.was_killed = False
        self._facts: dict[str, object] = {}
        self._history: deque[tuple[float, int]] = deque()
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"demo.{module}", name, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
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
        value = self._facts.get(fact, 0)
        return value if isinstance(value, int) else 0

    def by_partition(self, fact: str) -> dict[int, int]:
        value = self._facts.get(fact)
        return {int(partition): offset for partition, offset in value.items()} if isinstance(value, dict) else {}

    def assigned(self) -> list[int]:
        value = self._facts.get("assigned")
        return list(value) if isinstance(value, list) and self.is_alive() else []

    def rate(self, fact: str) -> float:
        """Per second, over the last moments."""
        now, count = time.monotonic(), self.count(fact)
        self._history.append((now, count))
        while now - self._history[0][0] > _RATE_WINDOW_S:
            self._history.popleft()
        then, before = self._history[0]
        return (count - before) / (now - then) if now - then > 0.1 else 0.0

    def ask_to_finish(self) -> None:
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()

    def wait(self, timeout_s: float) -> int:
        status = self._process.wait(timeout_s)
        self._reader.join()
        return status

    def kill(self) -> None:
        self.was_killed = True
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Whatever state it is in, it is gone afterwards."""
        self.ask_to_finish()
        if self.is_alive():
            self._process.kill()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._facts = json.loads(line)
