"""The machine and the programs that figures belong to."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def describe(*, with_kafka: bool) -> dict[str, str]:
    facts = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cores": f"{os.cpu_count()} ({_first_value('/proc/cpuinfo', 'model name')})",
        "memory": f"{int(_first_value('/proc/meminfo', 'MemTotal').split()[0]) / (1 << 20):.0f} GB",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "barnabas": version("barnabas"),
        "librdkafka": _librdkafka(),
    }
    if with_kafka:
        facts["kafka"] = "4.3.1"
        facts["java"] = _java()
    return facts


def _first_value(path: str, key: str) -> str:
    for line in Path(path).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return "0"


def _librdkafka() -> str:
    from confluent_kafka import libversion

    return str(libversion()[0])


def _java() -> str:
    output = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    return output.splitlines()[1].strip()
