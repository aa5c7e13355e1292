"""Apache Kafka's ProducerPerformance and ConsumerPerformance, each run in a JVM of its own.

Both report rates themselves, without the start of the JVM. The producer's are those after its first records, which warm
it up; the consumer's are those of fetching, without the time in which it joined its group.
"""

import re
import subprocess
from collections.abc import Sequence

from bench.java import java
from bench.sockets import HOST, Refused

_HEAP_MB = 512  # as Kafka's scripts have it
_TIMEOUT_S = 600.0
_SENT = re.compile(r"^(\d+) steady state records sent, ([\d.]+) records/sec", re.MULTILINE)


def produce(port: int, topic: str, *, records: int, warm_up: int, size: int, codec: str) -> float:
    """Records per second after the first `warm_up` records; `records` includes these."""
    printed = _run(
        "ProducerPerformance",
        *("--bootstrap-server", f"{HOST}:{port}", "--topic", topic, "--throughput", "-1"),
        *("--num-records", str(records), "--warmup-records", str(warm_up), "--record-size", str(size)),
        *("--command-property", f"compression.type={codec}", "acks=all"),
    )
    return steady_rate(printed, records - warm_up)


def steady_rate(printed: str, records: int) -> float:
    """The rate in the line of ProducerPerformance that sums up what followed the warm-up."""
    ((sent, per_s),) = _SENT.findall(printed)
    if int(sent) != records:
        raise Refused(f"the producer sent {sent} of {records} records:\n{printed[-2000:]}")
    return float(per_s)


def consume(port: int, topic: str, *, records: int, group: str) -> float:
    """Records per second."""
    printed = _run(
        "ConsumerPerformance",
        *("--bootstrap-server", f"{HOST}:{port}", "--topic", topic, "--num-records", str(records), "--group", group),
    )
    return fetch_rate(printed, records)


def fetch_rate(printed: str, records: int) -> float:
    """The column fetch.nMsg.sec of ConsumerPerformance."""
    head, values = (line.split(", ") for line in printed.splitlines() if line.count(", ") >= 9)
    row = dict(zip((name.strip() for name in head), values, strict=True))
    if int(row["data.consumed.in.nMsg"]) < records:
        raise Refused(f"the consumer got {row['data.consumed.in.nMsg']} of {records} records")
    return float(row["fetch.nMsg.sec"])


def _run(tool: str, *arguments: str) -> str:
    command: Sequence[str] = [*java(_HEAP_MB), f"org.apache.kafka.tools.{tool}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        raise Refused(f"{tool} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout
