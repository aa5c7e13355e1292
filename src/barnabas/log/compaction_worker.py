"""The compaction worker process: `python -m barnabas.log.compaction_worker <pid of the broker>`, with a job on stdin.

Compaction keeps Python busy for seconds, so it must not share an interpreter with the event loop. Each job gets its own
process, which starts in a tenth of a second, returns its memory when it ends, and can be killed at any time. It writes
its messages to stdout, one JSON document per line, and exits with 0 on success.

The worker ends when the broker dies: before each batch it checks that its parent is still the broker, because the next
broker may clean the same log soon.
"""

import os
import sys
import time
from collections.abc import Callable

from msgspec import json

from barnabas.env.disk import RealDisk
from barnabas.log.compaction_core import Throttle, compact
from barnabas.log.compaction_job import CompactionJob, Failed, Message
from barnabas.wire.errors import KafkaError

NICENESS = 10
"""Give the broker priority on machines with few cores."""

SLEEP_SECONDS_MAX = 1.0
ORPHANED = 3


def main() -> int:
    broker_pid = int(sys.argv[1])
    os.nice(NICENESS)
    job = json.decode(sys.stdin.buffer.read(), type=CompactionJob)
    throttle = make_throttle(job.io_bytes_per_second, lambda: end_if_orphaned(broker_pid))
    try:
        for step in compact(job, RealDisk(), throttle):
            _send(step)
    except (OSError, KafkaError) as error:
        _send(Failed(str(error)))
        return 1
    return 0


def end_if_orphaned(broker_pid: int) -> None:
    if os.getppid() != broker_pid:
        os._exit(ORPHANED)  # at once, without cleaning up: the files may be another worker's by now


def make_throttle(
    bytes_per_second: float | None,
    check: Callable[[], None],
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Throttle:
    """A throttle that limits reads plus writes to `bytes_per_second`, and calls `check` before each batch."""
    started = now()
    done_bytes = 0

    def throttle(size: int) -> None:
        nonlocal done_bytes
        check()
        if bytes_per_second is None:
            return
        done_bytes += size
        while (ahead_seconds := done_bytes / bytes_per_second - (now() - started)) > 0:
            sleep(min(ahead_seconds, SLEEP_SECONDS_MAX))
            check()

    return throttle


def _send(message: Message) -> None:
    sys.stdout.buffer.write(json.encode(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
