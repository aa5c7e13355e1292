"""Mistakes in flows and their connections: the exact messages and positions."""

from pathlib import Path

import pytest
from project_making import FLOWS, HEAD, SOURCES, mistakes


def flow(*lines: str) -> str:
    """A project whose flow `f` has these lines; the first is line 10."""
    body = "\n".join(f"    {line}" for line in lines)
    return f"{HEAD}{SOURCES}flows:\n  f:\n{body}\n"


CASES = {
    "two of one name": (
        f"{HEAD}{SOURCES}flows:\n  Orders: {{sql: SELECT * FROM orders}}\n",
        "pipeline.yaml:9:3: flow `Orders` has the name of source `orders`\n"
        "  9 |   Orders: {sql: SELECT * FROM orders}\n"
        "    |   ^^^^^^\n"
        "  hint: choose another: names are used in SQL, where upper and lower case are the same",
    ),
    "an input that does not exist": (
        flow("sql: SELECT * FROM order", "output: {topic: t}"),
        "pipeline.yaml:10:24: flow `f` reads `order`, which is not a source, table or flow\n"
        "  10 |     sql: SELECT * FROM order\n"
        "     |                        ^^^^^\n"
        "  hint: did you mean `orders`?",
    ),
    "an input that does not exist, declared": (
        flow("sql: SELECT * FROM orders", "inputs: [xyz]"),
        "pipeline.yaml:11:14: flow `f` reads `xyz`, which is not a source, table or flow\n"
        "  11 |     inputs: [xyz]\n"
        "     |              ^^^\n"
        "  hint: declare it under `sources:`, `tables:` or `flows:`",
    ),
    "a SQL file that is not there": (
        flow("sql: sql/none.sql"),
        "pipeline.yaml:10:10: there is no SQL file `sql/none.sql`\n"
        "  10 |     sql: sql/none.sql\n"
        "     |          ^^^^^^^^^^^^\n"
        "  hint: create it; paths are relative to the project: HERE",
    ),
    "a Python file that is not there": (
        flow("python: flows/none.py:f"),
        "pipeline.yaml:10:13: there is no Python file `flows/none.py`\n"
        "  10 |     python: flows/none.py:f\n"
        "     |             ^^^^^^^^^^^^^^^\n"
        "  hint: create it; paths are relative to the project: HERE",
    ),
    "no function": (
        flow("python: flows/none.py"),
        "pipeline.yaml:10:13: `flows/none.py` is not a function in a file\n"
        "  10 |     python: flows/none.py\n"
        "     |             ^^^^^^^^^^^^^\n"
        "  hint: write the file and the function: `python: flows/averages.py:averages`",
    ),
    "neither a file nor a query": (
        flow("sql: SELCT * FROM orders"),
        "pipeline.yaml:10:10: this is neither a file nor a query\n"
        "  10 |     sql: SELCT * FROM orders\n"
        "     |          ^^^^^^^^^^^^^^^^^^^\n"
        "  hint: write a file, `sql: sql/NAME.sql`, or a query that begins with SELECT, WITH or FROM",
    ),
    "a file that is named like a query": (
        flow("sql: from.sql"),
        "pipeline.yaml:10:10: there is no SQL file `from.sql`\n"
        "  10 |     sql: from.sql\n"
        "     |          ^^^^^^^^\n"
        "  hint: create it; paths are relative to the project: HERE",
    ),
    "SQL that does not end": (
        flow("sql: SELECT 'a FROM orders"),
        "pipeline.yaml:10:17: not SQL: a string is not closed\n"
        "  10 |     sql: SELECT 'a FROM orders\n"
        "     |                 ^\n"
        "  hint: close it with '",
    ),
    "a flow that does nothing": (
        flow("output: {topic: t}"),
        "pipeline.yaml:9:3: flow `f` has neither `sql` nor `python`\n"
        "  9 |   f:\n"
        "    |   ^\n"
        "  hint: give it `sql: sql/NAME.sql` or `python: FILE:FUNCTION`",
    ),
    "a flow that reads nothing": (
        flow("sql: SELECT 1 AS one", "output: {topic: t}"),
        "pipeline.yaml:9:3: flow `f` reads no source, so its output would stay empty\n"
        "  9 |   f:\n"
        "    |   ^\n"
        "  hint: let it read a source, directly or through another flow",
    ),
    "a flow that reads itself": (
        flow("sql: SELECT * FROM f"),
        "pipeline.yaml:9:3: flow `f` reads itself\n"
        "  9 |   f:\n"
        "    |   ^\n"
        "  hint: let one of them read a source or a table instead",
    ),
    "a circle": (
        f"{HEAD}{SOURCES}flows:\n  a: {{sql: SELECT * FROM b}}\n  b: {{sql: SELECT * FROM c}}\n"
        "  c: {sql: SELECT * FROM a JOIN orders}\n",
        "pipeline.yaml:9:3: flows read each other in a cycle: a <- b <- c <- a\n"
        "  9 |   a: {sql: SELECT * FROM b}\n"
        "    |   ^\n"
        "  hint: let one of them read a source or a table instead",
    ),
    "a circle through the log": (
        flow("sql: SELECT * FROM orders", "output: {topic: orders}"),
        "pipeline.yaml:11:21: what flow `f` writes to the topic `orders` comes back to it through source `orders`\n"
        "  11 |     output: {topic: orders}\n"
        "     |                     ^^^^^^\n"
        "  hint: write to another topic",
    ),
    "two writers of one topic": (
        f"{HEAD}{SOURCES}{FLOWS}  also: {{sql: SELECT * FROM orders, output: {{topic: large}}}}\n",
        "pipeline.yaml:12:53: flow `also` and flow `large` both write to the topic `large`\n"
        "  12 |   also: {sql: SELECT * FROM orders, output: {topic: large}}\n"
        "     |                                                     ^^^^^\n"
        "  hint: give one of them another topic, or join both flows by UNION ALL in a third",
    ),
    "two writers of one table": (
        f"{HEAD}{SOURCES}flows:\n  a: {{sql: SELECT * FROM orders, output: {{table: out/x}}}}\n"
        "  b: {sql: SELECT * FROM orders, output: {table: out//x/}}\n",
        "pipeline.yaml:10:50: flow `b` and flow `a` both write to the table `x`\n"
        "  10 |   b: {sql: SELECT * FROM orders, output: {table: out//x/}}\n"
        "     |                                                  ^^^^^^^\n"
        "  hint: give one of them another table, or join both flows by UNION ALL in a third",
    ),
    "dead letters among the living": (
        f"{HEAD}{SOURCES}{FLOWS}dead_letters: {{topic: large}}\n",
        "pipeline.yaml:11:21: flow `large` and the dead letters both write to the topic `large`\n"
        "  11 |     output: {topic: large}\n"
        "     |                     ^^^^^\n"
        "  hint: give one of them another topic, or join both flows by UNION ALL in a third",
    ),
    "dead letters that are read": (
        f"{HEAD}{SOURCES}{FLOWS}dead_letters: {{topic: orders}}\n",
        "pipeline.yaml:12:23: source `orders` reads the dead letters' topic\n"
        "  12 | dead_letters: {topic: orders}\n"
        "     |                       ^^^^^^\n"
        "  hint: give dead letters their own topic",
    ),
    "an output with two ends": (
        flow("sql: SELECT * FROM orders", "output: {topic: t, table: u}"),
        "pipeline.yaml:11:24: the output of flow `f` has both `topic` and `table`\n"
        "  11 |     output: {topic: t, table: u}\n"
        "     |                        ^^^^^\n"
        "  hint: give one of: `topic: NAME`, `table: FOLDER`, `console: true`; another output is another flow",
    ),
    "a table with a mode": (
        flow("sql: SELECT * FROM orders", "output: {table: u, mode: update}"),
        "pipeline.yaml:11:24: `mode` has no meaning with the output `table`\n"
        "  11 |     output: {table: u, mode: update}\n"
        "     |                        ^^^^\n"
        "  hint: remove it: tables are always appended to",
    ),
    "a topic that cannot be": (
        flow("sql: SELECT * FROM orders", "output: {topic: a/b}"),
        "pipeline.yaml:11:21: `a/b` cannot be the name of a topic\n"
        "  11 |     output: {topic: a/b}\n"
        "     |                     ^^^\n"
        "  hint: use letters, digits, `.`, `_` and `-`, at most 249",
    ),
    "no flows": (
        f"{HEAD}{SOURCES}flows: {{}}\n",
        "pipeline.yaml:8:8: `flows` is empty\n"
        "  8 | flows: {}\n"
        "    |        ^^\n"
        "  hint: add one: a pipeline needs flows",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_told_in_these_words(case: str, tmp_path: Path) -> None:
    yaml, expected = CASES[case]
    assert mistakes(tmp_path, yaml) == [expected.replace("HERE", str(tmp_path))]


def test_a_mistake_in_a_sql_file_is_shown_there(tmp_path: Path) -> None:
    found = mistakes(tmp_path, flow("sql: q.sql"), files={"q.sql": "-- a query\nSELECT *\n  FROM order\n"})
    assert found == [
        "q.sql:3:8: flow `f` reads `order`, which is not a source, table or flow\n"
        "  3 |   FROM order\n"
        "    |        ^^^^^\n"
        "  hint: did you mean `orders`?"
    ]


PYTHON = {
    "def f(ordrs): ...\n": "f.py:1:7: flow `f` reads `ordrs`, which is not a source, table or flow",
    "def f(x:\n": "f.py:1:6: not Python: '(' was never closed",
    "def g(): ...\n": "pipeline.yaml:10:13: f.py has no function `f`",
    "def f(*all): ...\n": "f.py:1:1: the parameters of `f` cannot be passed by name",
    "def f(inputs): ...\n": "pipeline.yaml:10:13: `f` takes `inputs`, but flow `f` does not list them",
}


@pytest.mark.parametrize("text", PYTHON)
def test_a_mistake_in_a_function_is_shown_there(text: str, tmp_path: Path) -> None:
    assert mistakes(tmp_path, flow("python: f.py:f"), files={"f.py": text})[0].splitlines()[0] == PYTHON[text]


def test_a_parameter_that_is_not_declared(tmp_path: Path) -> None:
    found = mistakes(tmp_path, flow("python: f.py:f", "inputs: orders"), files={"f.py": "def f(orders, other): ...\n"})
    assert found[0].startswith("f.py:1:15: `other` is not in the `inputs` of flow `f`")
