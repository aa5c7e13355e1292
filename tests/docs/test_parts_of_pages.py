"""Blocks of pages that are a part of something: of a file that another page has, or of what a program logs."""

from followed_pages import Followed
from page_blocks import blocks_on


def test_the_values_from_outside_are_those_of_the_tutorial(followed: Followed) -> None:
    (block,) = followed("docs/scaling.md")
    (project,) = (each for each in blocks_on("docs/tutorial.md") if each.names_a_file == "pipeline.yaml")
    assert block.text in project.text
