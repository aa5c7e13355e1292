"""Broker, client and `barnabas.testing` do without what only Linux has.

Some of the tests run once more, in a Python from which Linux's calls are taken away (`without_linux`): logs, brokers as
threads and as processes, kills, TLS with a key in memory, real clients.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
WITHOUT_LINUX = Path(__file__).parent / "without_linux"

AGAIN = (
    "log/test_open_files.py",
    "log/test_partition_log.py",
    "node/test_deleted_records.py",
    "testing/test_testing_broker.py",
    "testing/test_clock_driver.py",
    "client/test_client_tls.py",
    "clients/test_producers.py",
)


def environment() -> dict[str, str]:
    inherited = os.environ.get("PYTHONPATH")
    path = f"{WITHOUT_LINUX}{os.pathsep}{inherited}" if inherited else str(WITHOUT_LINUX)
    return {**os.environ, "PYTHONPATH": path}


def test_the_calls_are_gone() -> None:
    program = """
import asyncio, os, select
from barnabas.portable import files, processes, secret_files
assert not any(hasattr(os, name) for name in ("fdatasync", "memfd_create", "pwritev", "RWF_NOWAIT"))
assert not hasattr(select, "epoll")
assert not processes.has_proc()
assert files.sync_data is files.full_sync
with secret_files.secret_file(b"x") as path:
    assert not path.startswith("/proc")
"""
    subprocess.run([sys.executable, "-c", program], env=environment(), check=True)


@pytest.mark.clients
def test_what_is_tested_on_linux_works_without_it() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [*command, *(str(TESTS / name) for name in AGAIN)],
        env=environment(),
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]
