"""The parts of the Spark benchmark that need no Spark: what it writes, in which order it measures, how it reports."""

from pathlib import Path
from typing import Any

import pytest
from bench.report import END_MARK, markdown_table, with_figures
from bench.results import Better, Measure
from bench.spark.__main__ import BEGIN_MARK, main
from bench.spark.reads import described
from bench.spark.sizes import Sizes
from bench.spark.stage import OURS, THEIRS, TITLES, SparkStage, Turn
from bench.spark.topics import documents

ROOT = Path(__file__).parents[2]
RATE = Measure("reads", "noop, 100 B", "k rows/s", Better.MORE, target=2.0)


def stage(rounds: int) -> SparkStage:
    nothing: Any = None
    return SparkStage(Sizes(rounds, {100: 1}, 1, 1, 1, 1), nothing, nothing, Path())


def test_turns_alternate_and_the_first_round_only_warms_up() -> None:
    running, order, numbers = stage(rounds=2), [], iter(range(1, 100))

    def turn(who: str) -> Turn:
        def run() -> float:
            order.append(who)
            return float(next(numbers))

        return Turn(RATE, who, run)

    running.alternate([turn(OURS), turn(THEIRS)])
    assert order == [OURS, THEIRS] * 3
    assert running.results.values[RATE] == {OURS: [3.0, 5.0], THEIRS: [4.0, 6.0]}


@pytest.mark.parametrize("size", [100, 1024])
def test_documents_have_their_size_and_differ(size: int) -> None:
    made = documents(size)
    assert {len(one) for one in made} == {size}
    assert len(set(made)) == len(made)


def test_measures_name_size_and_codec() -> None:
    assert [described(100, "none"), described(1024, "zstd")] == ["100 B", "1 KB zstd"]


def test_the_page_gets_figures_with_their_own_titles() -> None:
    results = stage(1).results
    results.add(RATE, OURS, 30)
    results.add(RATE, THEIRS, 10)
    table = markdown_table(results, "reads", TITLES)
    assert "Spark's connector" in table
    assert "| 3.00 | >= 2 | ok |" in table
    page = (ROOT / "docs" / "performance-spark.md").read_text()
    filled = with_figures(page, results, TITLES, begin_mark=BEGIN_MARK, picture="![chart](chart.png)")
    assert table in filled
    assert filled.index("![chart](chart.png)") < filled.index(table)
    assert filled.endswith(page[page.index(END_MARK) :])


def test_it_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("reads", "streams", "sinks", "--page", "--broker"))
