"""The page about options names all of them, and none that does not exist."""

import re
from pathlib import Path

from barnabas.spark.options.names import SINK, SOURCE

PAGE = Path(__file__).parents[3] / "docs" / "spark-options.md"


def test_the_page_has_every_option() -> None:
    named = re.findall(r"^\| `([\w.*]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert {name for name in named if not name.startswith("kafka.")} == {*SOURCE, *SINK}
