"""A shell for the commands of a page, as a reader has it.

Only ports differ, and nothing listens except on the loopback. A command that does not end by itself runs in the
background: a broker until the page ends, kills it or starts another, any other command until the next block has run.
The output on the page must appear, perhaps with other numbers; if it depends on other processes, the command is retried
for a while.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from followed_pages import reason_not_to_run
from page_blocks import Block, Commands

from barnabas.spark.java import SHORT_LIVED
from barnabas.testing.ports import pick_free_port

PATIENCE_S = 60.0
PAUSE_S_MAX = 2.0
"""Between two tries of a command. What it waits for, such as Spark, needs the processor, too."""
DONE = "the command has ended with status"

_PORT = re.compile(r"(?<=[:=])9\d\d\d\b|(?<=[: ])(?:7077|808\d)\b")
_LISTENERS = re.compile(r"^listeners=.*", re.MULTILINE)
_VARIES = re.compile(r"\d[\d.,]*")


class Shell:
    """One bash, as a reader has it."""

    def __init__(self, home: Path, environment: Mapping[str, str] | None = None) -> None:
        """`environment`: variables that are set before. With BARNABAS_BOOTSTRAP_SERVER, a broker is running already."""
        self._home = home
        self._has_broker = "BARNABAS_BOOTSTRAP_SERVER" in (environment or {})
        self._running_broker = (environment or {}).get("BARNABAS_BOOTSTRAP_SERVER", "")
        self.patience_s = PATIENCE_S
        self._brokers: dict[int, int] = {}
        """Process ids by port."""
        self._ports: dict[str, int] = {}
        self._to_interrupt: list[subprocess.Popen[bytes]] = []
        self._environment = {
            "HOME": str(home),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "BARNABAS_BOOTSTRAP_SERVER": self._with_ports("localhost:9092"),
            "NO_COLOR": "1",
            "SPARK_SUBMIT_OPTS": SHORT_LIVED,
            # Where tests run from sources that are not installed.
            **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
            **(environment or {}),
        }
        self._process = subprocess.Popen(
            ["bash", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=home,
            env=self._environment,
            text=True,
            start_new_session=True,
        )

    def write(self, name: str, text: str) -> None:
        """Into the folder where the shell is now."""
        (self.folder / name).write_text(self._with_ports(text))

    @property
    def folder(self) -> Path:
        """Where the shell is now."""
        return Path(self.output_of("pwd")[-1])

    def output_of(self, command: str) -> list[str]:
        """A command that is not on the page."""
        status, output = self._ask(self._with_ports(command))
        assert status == 0, f"$ {command}\n" + "\n".join(output)
        return output

    def follow(self, blocks: Iterable[Block]) -> None:
        """Commands and files that depend on each other: a file's block begins with a comment that is its name."""
        for block in blocks:
            if block.is_of_a_shell:
                self.run_block(block.commands)
            else:
                name = block.names_a_file
                assert name is not None, f"{block.where}: which file is it?"
                self.write(name, block.text.partition("\n")[2])

    def run_block(self, commands: Commands) -> None:
        earlier, self._to_interrupt = self._to_interrupt, []
        for command, expected in commands:
            self._run(command, expected)
        for process in earlier:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)

    def _run(self, command: str, expected: list[str]) -> None:
        if reason_not_to_run(command):
            return
        if command.startswith("barnabas serve") and self._has_broker:
            self._ask("sleep 100000 &")  # it counts as a job of the shell
            return
        if command.startswith("barnabas serve") and not (expected and expected[0].startswith("error")):
            self._serve(command)
        elif re.match(r"barnabas consume (?!.*(--timeout|-n ))", command):
            self._leave_running(self._with_ports(command))
        else:
            self._expect(command, expected)

    def _leave_running(self, command: str) -> None:
        """As in another terminal: a shell's background job does not get Ctrl-C."""
        _, exported = self._ask("echo $BARNABAS_BOOTSTRAP_SERVER")
        self._to_interrupt.append(
            subprocess.Popen(
                command.split(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=self._home,
                env={**self._environment, "BARNABAS_BOOTSTRAP_SERVER": exported[0]},
            )
        )

    def _serve(self, command: str) -> None:
        command = command.removesuffix("&").strip()
        listens = re.findall(r"--listen (\S+)", command) or self._listeners_of_file(command)
        if not listens:
            listens = ["localhost:9092"]
            command += f" --listen {listens[0]}"
        command = self._with_ports(command)
        port = int(re.findall(r":(\d+)", self._with_ports(listens[-1]))[0])
        if port in self._brokers:  # an alternative to the one before
            self._ask(f"kill {self._brokers[port]}; wait {self._brokers[port]}")
        said = self._home / f"serve-{port}.out"
        said.unlink(missing_ok=True)
        _, output = self._ask(f"{command} > {said} 2>&1 & echo pid $!")
        self._brokers[port] = int(output[-1].split()[1])
        deadline = time.monotonic() + PATIENCE_S
        while not (said.exists() and " is ready on " in said.read_text()):
            if time.monotonic() > deadline:
                pytest.fail(f"{command} is not ready: {said.read_text()}")
            time.sleep(0.05)

    def _listeners_of_file(self, command: str) -> list[str]:
        config = re.search(r"--config (\S+)", command)
        return _LISTENERS.findall((self.folder / config[1]).read_text()) if config else []

    def _expect(self, command: str, expected: list[str]) -> None:
        wants_error = bool(expected) and expected[0].startswith("error:")
        deadline = time.monotonic() + self.patience_s
        pause_s = 0.2
        while True:
            status, output = self._ask(self._with_ports(command))
            missing = {_comparable(line) for line in expected} - {_comparable(line) for line in output}
            if (status != 0) == wants_error and not missing:
                return
            if time.monotonic() > deadline or not _may_be_repeated(command):
                pytest.fail(f"$ {command}\nended with {status}, without {missing}:\n" + "\n".join(output))
            time.sleep(pause_s)
            pause_s = min(1.5 * pause_s, PAUSE_S_MAX)

    def _ask(self, command: str) -> tuple[int, list[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\nstatus=$?; echo; echo {DONE} $status\n")
        self._process.stdin.flush()
        output: list[str] = []
        for line in self._process.stdout:
            if line.startswith(DONE):
                return int(line.split()[-1]), [line for line in output if line]
            output.append(line.rstrip())
        raise AssertionError(f"the shell has ended: {output}")

    def _with_ports(self, text: str) -> str:
        if self._has_broker:
            text = text.replace("localhost:9092", self._running_broker)
        text = text.replace("0.0.0.0", "127.0.0.1")
        return _PORT.sub(lambda port: str(self._ports.setdefault(port[0], pick_free_port("127.0.0.1"))), text)

    def close(self) -> None:
        for process in self._to_interrupt:
            process.kill()
            process.wait()
        for pid in self._brokers.values():
            self._ask(f"kill -9 {pid}; wait {pid}")
        self._ask("kill $(jobs -p); wait")  # what a page has left running
        self._process.communicate("exit\n", timeout=PATIENCE_S)


def _may_be_repeated(command: str) -> bool:
    return bool(re.search(r"describe|verify|--dry-run|consume|kafka-|curl|pipeline (status|dead-letters)", command))


def _comparable(line: str) -> str:
    return " ".join(_VARIES.sub("#", line).split())
