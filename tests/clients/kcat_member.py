"""kcat -G: kcat as a member of a group."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from group_member import HEARTBEAT_INTERVAL_MS, SESSION_TIMEOUT_MS


class KcatMember:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._values: set[str] = set()

    def values(self) -> set[str]:
        return set(self._values)

    def listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._values.add(line.rstrip("\n"))


@contextmanager
def kcat_member(kcat: str, servers: str, group: str, topic: str) -> Iterator[KcatMember]:
    config = {
        "session.timeout.ms": SESSION_TIMEOUT_MS,
        "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
        "auto.offset.reset": "earliest",
        "partition.assignment.strategy": "range",
    }
    settings = [option for name, value in config.items() for option in ("-X", f"{name}={value}")]
    process = subprocess.Popen(
        [kcat, "-b", servers, *settings, "-G", group, "-u", "-q", topic],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    member = KcatMember(process)
    listener = Thread(target=member.listen)
    listener.start()
    try:
        yield member
    finally:
        process.terminate()
        process.wait(10)
        listener.join()
