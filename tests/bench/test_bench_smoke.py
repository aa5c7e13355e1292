"""Smoke tests of the benchmarks: one of them runs in its smallest size, against Barnabas alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.first_test import CLIENTS, measure
from bench.report import BEGIN_MARK, END_MARK, markdown_table, target_text, with_figures
from bench.results import Better, Measure, Results

ROOT = Path(__file__).parents[2]
RATE = Measure("speed", "requests", "k/s", Better.MORE, target=1.2)
WAIT = Measure("speed", "wait", "us", Better.LESS, target=0.8)
LAG = Measure("lag", "lag", "ms", Better.LESS, ceiling=20)


def test_a_benchmark_measures_a_real_broker(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "end-to-end", "--quick", "--only", "barnabas", "--format", "json"]
    done = subprocess.run(
        [*command, "--directory", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    report = json.loads(done.stdout)
    assert [row["name"] for row in report["measures"]] == ["end to end p50", "end to end p99"]
    assert all(row["values"]["barnabas"][0] > 0 and row["ratio"] is None for row in report["measures"])
    assert "end to end p50: barnabas" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_the_readmes_test_is_measured_with_each_client(client: str) -> None:
    assert measure(client) > 0


@pytest.fixture
def results() -> Results:
    results = Results(machine={"cores": "2"}, notes=["a note"])
    for ours, theirs in ((10, 10), (12, 10), (90, 10)):
        results.add(RATE, "barnabas", ours)
        results.add(RATE, "kafka", theirs)
    results.add(WAIT, "barnabas", 90)
    results.add(WAIT, "kafka", 100)
    results.add(LAG, "barnabas", 21)
    return results


def test_the_median_of_the_rounds_is_held_against_the_target(results: Results) -> None:
    assert results.ratio(RATE) == pytest.approx(1.2)
    assert results.meets_target(RATE) is True
    assert results.meets_target(WAIT) is False
    assert results.meets_target(LAG) is False
    assert results.ratio(LAG) is None


def test_results_survive_json(results: Results) -> None:
    assert Results.from_json(json.loads(json.dumps(results.to_json()))) == results


def test_a_later_run_replaces_the_benchmarks_that_it_has(results: Results) -> None:
    later = Results(notes=["speed: faster"])
    later.add(RATE, "barnabas", 99)
    results.notes.append("speed: slow")
    results.replace(later)
    assert results.values == {LAG: {"barnabas": [21]}, RATE: {"barnabas": [99]}}
    assert results.notes == ["a note", "speed: faster"]
    assert results.machine == {"cores": "2"}


def test_a_markdown_table_says_what_falls_short(results: Results) -> None:
    lines = markdown_table(results, "speed").splitlines()
    assert lines[2:] == [
        "| requests | 12.0 | 10.0 | k/s | 1.20 | >= 1.2 | ok |",
        "| wait | 90.0 | 100 | us | 0.90 | <= 0.8 | **short** |",
    ]
    assert target_text(LAG) == "<= 20 ms"


def test_figures_on_a_page_are_replaced(results: Results) -> None:
    page = f"# Page\n\n{BEGIN_MARK}\n\nold\n\n{END_MARK}\n\nThe end.\n"
    once = with_figures(page, results)
    assert "old" not in once
    assert "| wait | 90.0 |" in once
    assert once.startswith("# Page\n")
    assert once.endswith("The end.\n")
    assert with_figures(once, results) == once
