"""Each workload for a few seconds, with kills and pauses of the broker and of clients: no anomalies.

    BARNABAS_SEED=7 pytest -s -p no:xdist tests/checker/test_short_runs.py

repeats the faults of a run; `python -m barnabas.testing.checker run` is the long version.
"""

import json
import os
import random
from pathlib import Path

import pytest

from barnabas.testing.checker.__main__ import ALL, main

SECONDS = 4.0


@pytest.mark.crash
@pytest.mark.parametrize("workload", ALL)
def test_nothing_is_found(workload: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get("BARNABAS_SEED", random.SystemRandom().randrange(1 << 32)))
    options = ["--workload", workload, "--seed", str(seed), "--minutes", str(SECONDS / 60), "--format", "json"]
    # A slow broker: more kills fall between a write and its answer.
    status = main(["run", *options, "--directory", str(tmp_path), "--broken", "answers-late"])
    printed = capsys.readouterr()
    assert printed.out, printed.err
    (report,) = json.loads(printed.out)
    assert (status, report["anomalies"]) == (0, []), f"BARNABAS_SEED={seed}"
    assert report["counts"]["values sent"] > 10
    assert report["counts"]["records there"] > 10


def test_a_history_can_be_checked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(
        '{"event":"history","workload":"by hand"}\n'
        '{"event":"send","t":1,"p":"one","partition":"t-0","values":["a","b"]}\n'
        '{"event":"ack","t":2,"p":"one","partition":"t-0","acks":[["a",0],["b",1]]}\n'
        '{"event":"poll","t":3,"p":"two","records":{"t-0":[[1,"b"]]}}\n'
    )
    assert main(["check", str(path)]) == 1
    table = capsys.readouterr().out
    assert "lost write x 1" in table
    assert "a of one was acknowledged at offset 0 and is not there" in table
    assert main(["check", str(path), "--format", "json"]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert [(each["kind"], each["where"]) for each in report["anomalies"]] == [("lost write", "t-0")]


def test_what_is_no_history_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "nowhere.jsonl")]) == 2
    assert "nowhere.jsonl" in capsys.readouterr().err


def test_everything_that_is_looked_for_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["anomalies"]) == 0
    assert "torn transaction" in capsys.readouterr().out
