"""The options page lists exactly the existing options."""

import re
from collections.abc import Iterator
from pathlib import Path

from barnabas.spark.options.names import SINK, SOURCE

PAGE = Path(__file__).parents[3] / "docs" / "spark-options.md"


def options_of(page: str) -> Iterator[str]:
    """The first column of each table of options."""
    for table in re.findall(r"^\| option \|.*\n((?:\|.*\n)+)", page, re.MULTILINE):
        yield from re.findall(r"^\| `([\w.*]+)` \|", table, re.MULTILINE)


def test_the_page_has_every_option() -> None:
    named = {name for name in options_of(PAGE.read_text()) if not name.startswith("kafka.")}
    assert named == {*SOURCE, *SINK}
