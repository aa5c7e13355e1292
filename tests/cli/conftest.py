"""Commands run in this process against a broker in this process."""

import io
import sys

import pytest
from cli_running import CommandResult, Run

from barnabas.cli.main import run
from barnabas.testing import Broker


@pytest.fixture
def barnabas(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `barnabas ...`, with `stdin` as its input."""

    def call(*arguments: str, stdin: str = "") -> CommandResult:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        return CommandResult(run(list(arguments)), *capfd.readouterr())

    return call


@pytest.fixture
def script(barnabas: Run, barnabas_broker: Broker) -> Run:
    """Run `barnabas kafka-... --bootstrap-server ...`."""

    def call(name: str, *arguments: str, stdin: str = "") -> CommandResult:
        servers = ("--bootstrap-server", barnabas_broker.bootstrap_servers)
        return barnabas(name, *servers, *arguments, stdin=stdin)

    return call
