"""Every block of every page is followed by a test, or says why not; and what the table names exists."""

import ast
from functools import cache

import pytest
from followed_pages import FOLLOWED, NOT_RUN, Row, following, reason_not_to_run
from page_blocks import PAGES, ROOT, Block, blocks_on


def is_left_out(block: Block) -> bool:
    return block.is_of_a_shell and all(reason_not_to_run(command) for command, _ in block.commands)


def is_followed(block: Block) -> bool:
    return any(row.has(block) for row in FOLLOWED)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_followed(page: str) -> None:
    text = (ROOT / page).read_text()
    blocks = blocks_on(page)
    assert 2 * len(blocks) == text.count("```"), "a block that is not read"
    assert [block.where for block in blocks if not is_followed(block) and not is_left_out(block)] == []
    assert [block.where for block in blocks if block.is_of_a_shell and not block.commands] == []


@cache
def functions_of(file: str) -> dict[str, set[str]]:
    """The arguments of each function."""
    tree = ast.parse((ROOT / file).read_text())
    return {
        node.name: {argument.arg for argument in node.args.args}
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.parametrize("row", FOLLOWED, ids=lambda row: f"{row.page}-{row.test.rpartition('::')[2]}-{row.having}")
def test_every_row_is_of_use(row: Row) -> None:
    file, _, test = row.test.partition("::")
    assert "followed" in functions_of(file)[test], "only the fixture `followed` makes sure that the test follows it"
    found = {block.kind for block in blocks_on(row.page) if row.has(block)}
    assert found == set(row.kinds)


def test_what_is_not_run_is_on_a_page() -> None:
    commands = [
        command for page in PAGES for block in blocks_on(page) if block.is_of_a_shell for command, _ in block.commands
    ]
    assert [each for each in NOT_RUN if not any(command.startswith(each) for command in commands)] == []


def test_a_block_that_nobody_follows_is_found() -> None:
    assert not is_followed(Block("README.md", 1, "yaml", "name: new\n"))
    assert not is_left_out(Block("README.md", 1, "yaml", "pip install\n"))
    assert not is_left_out(Block("README.md", 1, "console", "$ make test\n$ barnabas topic list\n"))
    assert is_left_out(Block("README.md", 1, "console", "$ make test\n"))


def test_a_test_that_leaves_out_a_block_fails() -> None:
    row = next(row for row in FOLLOWED if row.page == "docs/tutorial.md")
    with pytest.raises(AssertionError, match=r"docs/tutorial\.md:\d+ \(console\)"), following(row.test) as follow:
        next(follow(row.page))
    with following(row.test) as follow:
        assert len([*follow(row.page)]) > 20
    with pytest.raises(AssertionError, match="has not asked"), following(row.test):
        pass
    with pytest.raises(AssertionError, match="has no row"), following(row.test) as follow:
        next(follow("README.md"))
