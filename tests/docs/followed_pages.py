"""Which test follows which blocks of the pages, and what is not followed, with the reason.

A test gets the blocks of a page from here, by the fixture `followed`, and fails if it leaves one out. A block that
stands in no row fails `test_every_block.py`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pytest
from page_blocks import ROOT, Block, blocks_on

Followed = Callable[[str], Iterator[Block]]
"""Gives the blocks of a page that the table says this test follows, in the page's order."""


@dataclass(frozen=True)
class Row:
    page: str
    test: str
    kinds: tuple[str, ...]
    having: str = ""
    """Only blocks with this in their text."""
    without: str | None = None
    """Only blocks without this in their text."""

    def has(self, block: Block) -> bool:
        return (
            block.page == self.page
            and block.kind in self.kinds
            and self.having in block.text
            and (self.without is None or self.without not in block.text)
        )


_CONSOLE = "tests/docs/test_console.py::test_commands_run"
_CONSOLE_WITH_SPARK = "tests/docs/test_console.py::test_commands_run_with_spark"
_EXAMPLES = "tests/docs/test_examples.py::test_examples_run"
_SMALLER = "tests/docs/test_long_commands.py::test_commands_run_with_smaller_numbers"
_PAGES_WITH_SPARK = "tests/spark/pages/test_spark_pages.py::"
_PIPELINES = "tests/docs/test_pipeline_reference.py::"
_MIGRATION = "tests/pipeline/pages/test_migration_pages.py::test_every_flow_can_be_run_as_a_stream"
_SCALING = "interop/test_pipeline_cluster.py::test_the_pipeline_of_the_readme"
_SECURITY = "interop/test_client_security.py::test_the_page_about_tls_and_logins"
_PARTS = "tests/docs/test_parts_of_pages.py::"

FOLLOWED: Final = (
    Row("README.md", _CONSOLE_WITH_SPARK, ("console",)),
    Row("README.md", _EXAMPLES, ("python",), having="barnabas.testing"),
    Row("README.md", _PAGES_WITH_SPARK + "test_the_section_of_the_readme", ("console",), having="topic create visits"),
    Row("README.md", _PAGES_WITH_SPARK + "test_the_section_of_the_readme", ("python",), having="barnabas.spark"),
    Row("README.md", _PAGES_WITH_SPARK + "test_the_section_of_the_readme", ("text",), having="|page|"),
    Row(
        "README.md",
        "tests/demo/test_demo_figures.py::test_the_readme_has_the_figures_of_the_demo",
        ("text",),
        having="sent = counted",
    ),
    Row("docs/client-security.md", _SECURITY, ("console", "properties")),
    Row("docs/commands.md", "tests/cli/test_commands_page.py::test_examples_run", ("console", "properties")),
    Row("docs/configuration.md", _CONSOLE, ("console", "properties")),
    Row("docs/configuration.md", _EXAMPLES, ("python",)),
    Row("docs/crash-testing.md", _SMALLER, ("console",)),
    Row("docs/crash-testing.md", _EXAMPLES, ("python",)),
    Row("docs/delivery-semantics.md", _EXAMPLES, ("python",)),
    Row("docs/getting-started.md", _CONSOLE, ("console",)),
    Row("docs/getting-started.md", _EXAMPLES, ("python",)),
    Row(
        "docs/history.md",
        "tests/docs/test_console.py::test_the_history_page",
        ("console", "python", "properties", "json"),
    ),
    Row(
        "docs/interop.md",
        "interop/test_disk_exchange.py::test_kafka_serves_what_barnabas_wrote_and_back_again",
        ("properties",),
    ),
    Row("docs/kappa.md", "tests/demo/test_demo_play.py::test_the_play_ends_with_a_proof_of_both_versions", ("sh",)),
    Row("docs/kappa.md", "tests/pipeline/replay/test_kappa.py::test_replay_compare_switch_and_back", ("python",)),
    Row("docs/lambda.md", _PAGES_WITH_SPARK + "test_the_page_about_lambda", ("console", "python", "text")),
    Row("docs/migrate-from-kafka-streams.md", _MIGRATION, ("yaml",)),
    Row("docs/migrate-from-spark-kafka.md", _MIGRATION, ("yaml", "sql")),
    Row(
        "docs/migrate-from-spark-kafka.md",
        _PAGES_WITH_SPARK + "test_the_page_for_users_of_sparks_connector",
        ("console", "python", "text"),
    ),
    Row("docs/operations.md", _CONSOLE, ("console",)),
    Row("docs/pipelines.md", _CONSOLE, ("console",), having="barnabas pipeline init"),
    Row("docs/pipelines.md", "interop/test_pipeline_tutorial.py::test_the_page_about_pipelines", ("console", "sh")),
    Row("docs/pipelines.md", _PIPELINES + "test_the_example_is_a_good_project", ("yaml",), having="name: telemetry"),
    Row(
        "docs/pipelines.md", _PIPELINES + "test_rules_and_a_function_fit_the_example", ("yaml",), having="      recent:"
    ),
    Row("docs/pipelines.md", _PIPELINES + "test_rules_and_a_function_fit_the_example", ("python",)),
    Row("docs/pipelines.md", _PIPELINES + "test_the_mistake_is_reported_like_that", ("text",), having="`topik`"),
    Row(
        "docs/pipelines.md",
        _PIPELINES + "test_the_files_of_a_case_have_these_names",
        ("text",),
        having="tests/averages/",
    ),
    Row("docs/scaling.md", _SCALING, ("console",)),
    Row("docs/scaling.md", _SCALING, ("yaml",), having="profiles:"),
    Row(
        "docs/scaling.md",
        _PARTS + "test_the_values_from_outside_are_those_of_the_tutorial",
        ("yaml",),
        having="SPARK_MASTER",
    ),
    Row("docs/spark-operations.md", _CONSOLE_WITH_SPARK, ("console", "python", "yaml")),
    Row(
        "docs/spark-operations.md",
        "tests/spark/query/test_query_group.py::test_the_warning_is_that_of_the_page",
        ("text",),
    ),
    Row("docs/spark.md", _PAGES_WITH_SPARK + "test_the_guide", ("console", "python", "text")),
    Row("docs/spark.md", "interop/test_spark_connect.py::test_a_declarative_pipeline", ("yaml", "py", "sh")),
    Row("docs/testing.md", _SMALLER, ("console",)),
    Row(
        "docs/testing.md",
        "interop/test_client_security.py::test_the_checker_of_the_page_about_testing",
        ("console",),
        having="SASL_SSL",
    ),
    Row("docs/testing.md", _EXAMPLES, ("python",)),
    Row("docs/tutorial.md", "interop/test_pipeline_tutorial.py::test_the_tutorial", ("console", "sql", "text", "yaml")),
    Row("docs/tutorial.md", "interop/tutorial_on_kafka.py::test_the_tutorial", ("console", "sql", "text", "yaml")),
)

_INSTALLED = "the tests run in an environment that has it; an installation needs the network and minutes"
_THE_TESTS = "it would run the tests within a test"
_MEASURES = "measures for minutes to an hour, with 25 GB of disk; tests/bench tests its parts"

NOT_RUN: Final = {
    "pip install": _INSTALLED,
    "make setup": _INSTALLED,
    "make demo": "tests/demo runs the same program with fewer events",
    "make test": _THE_TESTS,
    "make interop": _THE_TESTS,
    "make soak": "takes hours",
    ".venv/bin/pytest tests/records": _THE_TESTS,
    ".venv/bin/mypy": "a part of `make check`, and takes a minute",
    "make bench-spark": _MEASURES,
    ".venv/bin/python -m bench.spark": _MEASURES,
    "make bench": _MEASURES,
    ".venv/bin/python -m bench": _MEASURES,
    "python -m barnabas.testing.spark_kills --every-step": "tests/spark/exactly_once has one life of it",
    "python -m barnabas.testing.spark_kills --rounds 50 --seed 6": "tests/spark/exactly_once runs it with 3 rounds",
    "python -m barnabas.testing.spark_kills --rounds 10 --at-least-once": "make soak: few rounds may find nothing",
    "python -m demo.kills --rounds 20 --seed 1": ".ci/run has two rounds",
    "python -m barnabas.testing.checker run --workload bank --bootstrap kafka-1:9093": (
        "interop/test_client_security.py runs it with a secured Apache Kafka"
    ),
}
"""How commands begin that no shell of a test runs, and why not."""


def reason_not_to_run(command: str) -> str | None:
    return next((reason for beginning, reason in NOT_RUN.items() if command.startswith(beginning)), None)


def blocks_for(test: str, page: str) -> list[Block]:
    rows = [row for row in FOLLOWED if row.test == test]
    return [block for block in blocks_on(page) if any(row.has(block) for row in rows)]


@contextmanager
def following(test: str) -> Iterator[Followed]:
    """For the test of this name. AssertionError in the end, if it has not followed what it began to read."""
    read: list[str] = []
    left: list[Block] = []

    def follow(page: str) -> Iterator[Block]:
        blocks = blocks_for(test, page)
        assert blocks, f"followed_pages.py has no row for {test} and {page}"
        read.append(page)
        left.extend(blocks)
        for block in blocks:
            yield block
            left.remove(block)

    yield follow
    assert read, f"{test} has not asked for a page"
    assert not left, f"{test} has not followed {', '.join(block.where for block in left)}"


@pytest.fixture
def followed(request: pytest.FixtureRequest) -> Iterator[Followed]:
    with following(f"{request.path.relative_to(ROOT)}::{request.function.__name__}") as follow:
        yield follow
