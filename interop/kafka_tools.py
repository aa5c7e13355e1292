"""Apache Kafka's command-line tools: their own classes, called through their own main methods, in one warm JVM."""

import base64
import subprocess
from pathlib import Path
from typing import NamedTuple, Self

from peers import JAVA_SOURCES, Peers

# Loaded again for every call, so that no static field of a tool survives into the next.
_JARS_WITH_TOOLS = ("kafka-tools-", "kafka_2.13-")
_TOOLS = "org.apache.kafka.tools."
_ELSEWHERE = {
    "ConsoleConsumer": _TOOLS + "consumer.ConsoleConsumer",
    "ConsoleShareConsumer": _TOOLS + "consumer.ConsoleShareConsumer",
    "ConsumerGroupCommand": _TOOLS + "consumer.group.ConsumerGroupCommand",
    "ShareGroupCommand": _TOOLS + "consumer.group.ShareGroupCommand",
    "ConfigCommand": "kafka.admin.ConfigCommand",
    "StorageTool": "kafka.tools.StorageTool",
}


class Outcome(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def words(self) -> list[list[str]]:
        return [line.split() for line in self.lines]


class KafkaTools:
    def __init__(self, peers: Peers) -> None:
        jars = sorted(peers.kafka_jars.glob("*.jar"))
        tools = [jar for jar in jars if jar.name.startswith(_JARS_WITH_TOOLS)]
        class_path = [peers.tool_runner, *(jar for jar in jars if jar not in tools)]
        self._process = subprocess.Popen(
            [*java(class_path, heap_mb=512), "ToolRunner", *map(str, tools)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="ascii",
        )

    def run(self, tool: str, *arguments: object, stdin: str = "", status: int = 0) -> Outcome:
        """Run a tool by the name of its class, and check its exit status."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        words = [_ELSEWHERE.get(tool, _TOOLS + tool), *(_base64(str(word)) for word in (stdin, *arguments))]
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the JVM with the tools ended"
        code, out, err = answer.rstrip("\n").split(" ")
        outcome = Outcome(int(code), base64.b64decode(out).decode(), base64.b64decode(err).decode())
        assert outcome.status == status, f"{tool} ended with {outcome.status}\n{outcome.out}\n{outcome.err}"
        return outcome

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def java(class_path: list[Path], *, heap_mb: int, log_level: str = "warn") -> list[str]:
    """The command up to the main class. Tests are short, so only the fast compiler (C1) is used."""
    return [
        "java",
        f"-Xmx{heap_mb}m",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Xshare:auto",
        f"-Dlog4j2.configurationFile={JAVA_SOURCES / 'log4j2.xml'}",
        f"-Dinterop.log.level={log_level}",
        "-cp",
        ":".join(map(str, class_path)),
    ]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
