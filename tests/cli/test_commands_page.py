"""Every example of docs/commands.md runs as it is written, in order, and ends well."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from followed_pages import Followed
from page_blocks import Block

from barnabas.cli.kafka.refused import REFUSED
from barnabas.cli.kafka.scripts import SCRIPTS
from barnabas.cli.profiles import parse_profiles
from barnabas.client.properties import client_settings
from barnabas.testing import Broker

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
# No delay for the first rebalance of a group.
PROPERTIES = {"group.initial.rebalance.delay.ms": "0"}


def comparable(text: str) -> list[str]:
    return [re.sub(r"TopicId: \S+", "TopicId: ...", line.rstrip()) for line in text.splitlines() if line.strip()]


@pytest.mark.clients
def test_examples_run(tmp_path: Path, followed: Followed) -> None:
    with Broker(data_dir=tmp_path / "data", properties=PROPERTIES) as broker:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "BARNABAS_BOOTSTRAP_SERVER": broker.bootstrap_servers,
            "HOME": str(tmp_path),
            "XDG_CONFIG_HOME": "",
        }
        for block in followed("docs/commands.md"):
            if block.kind == "properties":
                check_profiles(block)
                continue
            for example, shown in block.commands:
                command = example.replace("localhost:9092", broker.bootstrap_servers)
                done = subprocess.run(
                    ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, f"{example}\n{done.stdout}{done.stderr}"
                assert "Error" not in done.stdout, f"{example}\n{done.stdout}"
                if shown:
                    assert comparable(done.stdout) == comparable("\n".join(shown)), example


def check_profiles(block: Block) -> None:
    """The brokers of the second one do not exist; its properties are good all the same."""
    profiles = parse_profiles("profiles.conf", block.text)
    assert list(profiles) == ["local", "production"]
    for properties in profiles.values():
        assert client_settings(properties)


def test_the_page_names_every_script_and_every_refusal() -> None:
    page = PAGE.read_text()
    assert all(f"$ barnabas {name} " in page or f"| barnabas {name} " in page for name in SCRIPTS)
    for script, flags in REFUSED.items():
        assert f"`{script}`" in page or script.endswith("-perf-test")
        assert all(f"`{flag}`" in page for flag in flags)
