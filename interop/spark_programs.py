"""Runs the program with the cases of source and sink, with the Spark that the caller wants."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from spark_version_cases import cases

from barnabas.testing import Broker

HERE: Final = Path(__file__).parent
SECONDS_MAX: Final = 900


def python_path(*packages: Path) -> str:
    """For PYTHONPATH: these folders, before what is installed."""
    return os.pathsep.join(map(str, [*packages, HERE.parent / "src", HERE]))


def run_cases(folder: Path, packages: Sequence[Path], *, connect: bool = False) -> dict[str, str]:
    """What the program says of its Spark."""
    with Broker(process=True) as broker:
        program = [sys.executable, str(HERE / "spark_version_cases.py"), broker.bootstrap_servers, str(folder)]
        ran = subprocess.run(
            [*program, "connect"] if connect else program,
            env={**os.environ, "PYTHONPATH": python_path(*packages)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr[-3000:]
    first, *results = map(json.loads, ran.stdout.splitlines())
    failed = [f"{result['case']}: {result['trace']}" for result in results if result["trace"]]
    assert not failed, "\n".join(failed)
    assert [result["case"] for result in results] == [case.__name__ for case in cases(connect=connect)]
    return dict(first)
