"""A version keeps the logic with which it was started."""

from pathlib import Path

import pytest
from run_world import YAML, project

from barnabas.pipeline.driver.logic import check_logic, keep_logic, kept_logic
from barnabas.pipeline.project import Project, load
from barnabas.pipeline.project.model import PythonFunction, SqlQuery
from barnabas.spark.errors import UserError

NOWHERE = "127.0.0.1:1"
MORE = (
    YAML
    + """\
    trigger: 1 minute
  far:
    python: flows/far.py:far
    output: {{table: tables/far}}
"""
)
FAR = "from helper import LIMIT\n\n\ndef far(orders):\n    return orders.where(f'amount > {LIMIT}')\n"


def made(folder: Path, yaml: str = MORE, **files: str) -> Project:
    return project(folder, NOWHERE, yaml, **{"flows__far_dot_py": FAR, "flows__helper_dot_py": "LIMIT = 1\n", **files})


def start(found: Project) -> None:
    """Start like a run does, up to its first batch."""
    keep_logic(found, "v1")
    offsets = found.checkpoint("large", "v1") / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").write_text("")


def test_what_may_change(tmp_path: Path) -> None:
    start(made(tmp_path))
    assert check_logic(made(tmp_path), "v1") == []
    other = MORE.replace("1 minute", "2 minutes").replace(
        "name: shop", "# a comment\nname: shop\nspark: {{master: 'local[1]'}}"
    )
    other = other.replace("    schema:", "    options: {{maxOffsetsPerTrigger: 5}}\n    schema:")
    assert check_logic(made(tmp_path, other), "v1") == []


@pytest.mark.parametrize(
    ("yaml", "files", "change"),
    [
        (MORE.replace("key: id", "key: amount"), {}, "flow `large`, output: key was `id`, now `amount`"),
        (
            MORE.replace("amount DOUBLE", "amount INT"),
            {},
            "source `orders`: the column amount DOUBLE became amount INT",
        ),
        (MORE.replace("amount DOUBLE", "amount DOUBLE, x INT"), {}, "source `orders`: the column x INT was added"),
        (MORE.replace("tables/far", "tables/near"), {}, "flow `far`, output: path was "),
        (MORE + "dead_letters: {{topic: bin}}\n", {}, "dead letters went to `shop.dead-letters`, now to `bin`"),
        (MORE, {"flows__helper_dot_py": "LIMIT = 2\n"}, "flows/helper.py has changed:\n    -LIMIT = 1\n    +LIMIT = 2"),
        (
            MORE,
            {"sql__large_dot_sql": "SELECT id, amount FROM orders WHERE amount >= 10\n"},
            "flow `large`: the query has changed:\n    -SELECT id, amount FROM orders WHERE amount >= 100\n    +",
        ),
    ],
)
def test_what_may_not(tmp_path: Path, yaml: str, files: dict[str, str], change: str) -> None:
    start(made(tmp_path))
    changed = made(tmp_path, yaml, **files)
    with pytest.raises(UserError) as refusal:
        check_logic(changed, "v1")
    assert f"  - {change}" in refusal.value.message
    assert all(way in refusal.value.hint for way in ("replay --as", "--as-started", "--accept-changes"))
    found = check_logic(changed, "v1", accept_changes=True)
    assert len(found) == 1
    keep_logic(changed, "v1")
    assert check_logic(changed, "v1") == []
    assert len(list(changed.state_folder("v1").glob("logic-until-*"))) == 1


def test_rules_and_flows_that_come_and_go(tmp_path: Path) -> None:
    start(made(tmp_path))
    yaml = MORE.replace("    schema:", '    expect: {{paid: "amount > 0"}}\n    schema:').replace("  far:", "  near:")
    assert check_logic(made(tmp_path, yaml), "v1", accept_changes=True) == [
        "source `orders`, rule `paid` was added",
        "flow `far` was removed",
        "flow `near` was added",
    ]


def test_before_the_first_batch_everything_may_change(tmp_path: Path) -> None:
    keep_logic(made(tmp_path), "v1")
    assert check_logic(made(tmp_path, YAML), "v1") == []


def test_as_started(tmp_path: Path) -> None:
    """Queries and functions of that version; tables and state in the same place. Today's project may be broken."""
    start(made(tmp_path))
    made(tmp_path, sql__large_dot_sql="SELECT * FROM orders")
    (tmp_path / "pipeline.yaml").write_text("nonsense: [")
    then = load(tmp_path, environment={}, kept=kept_logic(tmp_path / ".barnabas/v1", "v1"))
    query, function = then.flows["large"].transform, then.flows["far"].transform
    assert isinstance(query, SqlQuery)
    assert isinstance(function, PythonFunction)
    assert query.text.endswith(">= 100\n")
    assert function.file == tmp_path / ".barnabas/v1/logic/flows/far.py"
    assert (function.file.parent / "helper.py").read_text() == "LIMIT = 1\n"
    assert then.state_folder("v1") == tmp_path / ".barnabas/v1"
    assert check_logic(then, "v1") == []
    with pytest.raises(UserError, match="v2 has never run here"):
        kept_logic(tmp_path / ".barnabas/v2", "v2")


def test_checkpoints_of_something_else(tmp_path: Path) -> None:
    found = made(tmp_path)
    start(found)
    (tmp_path / ".barnabas/v1/logic").rename(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"has checkpoints \(large\), but not the logic"):
        check_logic(found, "v1")


def test_a_crash_while_the_new_logic_is_put_there(tmp_path: Path) -> None:
    found = made(tmp_path)
    start(found)
    folder = tmp_path / ".barnabas/v1/logic"
    folder.rename(folder.with_name("logic-until-20260101T000000-1"))
    assert check_logic(found, "v1") == []
    assert folder.is_dir()
