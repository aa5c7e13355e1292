"""The test's side of a group's member processes: start, watch, stop and kill them."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from client_records import DEADLINE_S

SCRIPT = os.path.join(os.path.dirname(__file__), "group_member.py")


class Processed(NamedTuple):
    partition: int
    offset: int
    value: str


class Group:
    """All members of one group, past and present, on one topic."""

    def __init__(self, client: str, servers: str, group: str, topic: str, assignor: str) -> None:
        self._options = {"client": client, "servers": servers, "group": group, "topic": topic, "assignor": assignor}
        self.members: list[Member] = []
        self.changed = threading.Condition()

    def join(self, *, instance: str | None = None, **options: str) -> "Member":
        member = Member(self, {**self._options, "instance": instance, **options})
        self.members.append(member)
        return member

    def processed(self) -> list[Processed]:
        """What all members processed, each member's in its order."""
        return [each for member in self.members for each in member.processed]

    def values(self) -> set[str]:
        return {each.value for each in self.processed()}

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        give_up = time.monotonic() + DEADLINE_S
        with self.changed:
            while not condition():
                for member in self.members:
                    assert not member.died(), f"a member died: {member.stderr()}"
                left = give_up - time.monotonic()
                assert left > 0, f"not within {DEADLINE_S:.0f} s: {what}; {self}"
                self.changed.wait(left)

    def wait_for_share(self, *shares: tuple["Member", int]) -> None:
        """Wait until the members hold so many partitions each, and none twice."""

        def shared() -> bool:
            held = [partition for member, _ in shares for partition in member.assigned]
            return len(set(held)) == len(held) and all(len(member.assigned) == share for member, share in shares)

        self.wait(shared, f"shares of {[share for _, share in shares]}")

    def close(self) -> None:
        for member in self.members:
            member.kill()

    def __str__(self) -> str:
        return ", ".join(f"{member.assigned} ({len(member.processed)} records)" for member in self.members)


class Member:
    def __init__(self, group: Group, options: dict[str, str | None]) -> None:
        self._group = group
        self.assigned: list[int] = []
        self.assignments = 0
        """How often it got an assignment."""
        self.processed: list[Processed] = []
        self._ending = False
        self._process = subprocess.Popen(
            # Warnings are not errors there: it is the clients' code that runs.
            [sys.executable, SCRIPT, json.dumps(options)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._stderr: list[str] = []
        self._threads = [threading.Thread(target=self._listen), threading.Thread(target=self._listen_to_complaints)]
        for thread in self._threads:
            thread.start()

    def leave(self) -> None:
        """Leave cleanly: SIGTERM, and wait for exit status 0."""
        self._end(signal.SIGTERM)
        assert self._process.returncode == 0, self.stderr()

    def kill(self) -> None:
        """SIGKILL: the broker notices only by the session timeout."""
        self._end(signal.SIGKILL)

    def died(self) -> bool:
        return not self._ending and self._process.poll() is not None

    def stderr(self) -> str:
        return "".join(self._stderr)

    def _end(self, how: signal.Signals) -> None:
        self._ending = True
        if self._process.poll() is None:
            self._process.send_signal(how)
        self._process.wait(DEADLINE_S)
        for thread in self._threads:
            thread.join()
        self.assigned = []

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if not line.endswith("\n"):  # killed in the middle of it
                    break
                event = json.loads(line)
                with self._group.changed:
                    if "assigned" in event:
                        self.assigned = event["assigned"]
                        self.assignments += 1
                    else:
                        self.processed.append(Processed(event["partition"], event["offset"], event["value"]))
                    self._group.changed.notify_all()
        with self._group.changed:
            self._group.changed.notify_all()

    def _listen_to_complaints(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            self._stderr.extend(lines)


@contextmanager
def group_of(client: str, servers: str, group: str, topic: str, assignor: str) -> Iterator[Group]:
    members = Group(client, servers, group, topic, assignor)
    try:
        yield members
    finally:
        members.close()
