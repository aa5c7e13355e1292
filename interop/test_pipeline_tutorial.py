"""Pages that start Spark again and again. `make soak` follows the tutorial on Apache Kafka and a cluster, too."""

from pathlib import Path

import pytest
from followed_pages import Followed
from page_reader import reader

pytestmark = pytest.mark.timeout(1800)


def test_the_tutorial(tmp_path: Path, followed: Followed) -> None:
    with reader(tmp_path / "reader") as shell:
        shell.follow(followed("docs/tutorial.md"))


def test_the_page_about_pipelines(tmp_path: Path, followed: Followed) -> None:
    with reader(tmp_path / "reader") as shell:
        shell.follow(followed("docs/pipelines.md"))
