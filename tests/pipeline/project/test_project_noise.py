"""Any file content gives a project or problems with positions, never another error."""

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from project_making import FLOWS, HEAD, SOURCES
from test_project_model import EVERYTHING, FILES

from barnabas.pipeline.project import ProjectInvalid, load
from barnabas.pipeline.project.keys import SECTIONS

KEYS = sorted({key.name for section in SECTIONS for key in section.keys})
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["orders", "json", "avro", "a INT", "SELECT * FROM orders", "30 seconds", "x.py:f", "${X}", "at"])
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner),
    max_leaves=12,
)


def check(folder: Path, text: str) -> None:
    (folder / "pipeline.yaml").write_text(text, encoding="utf-8", newline="")
    try:
        project = load(folder, environment={})
    except ProjectInvalid as error:
        for problem in error.problems:
            assert problem.place.line >= 1
            assert problem.place.column >= 1
            assert problem.hint
            assert "^" in problem.place.picture()
    else:
        assert project.name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("noise")
    for name, text in FILES.items():
        (made / name).write_text(text)
    return made


@given(text=st.text(st.characters(codec="utf-8")))
def test_any_text(folder: Path, text: str) -> None:
    check(folder, text)


@given(
    tree=st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("name", "log", "sources", "tables", "flows", "dead_letters", "profiles"), TREES)
    )
)
def test_any_tree(folder: Path, tree: object) -> None:
    check(folder, yaml.safe_dump(tree, allow_unicode=True))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_a_good_file_with_damage(folder: Path, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([EVERYTHING, f"{HEAD}{SOURCES}{FLOWS}"]))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        insert = data.draw(st.text(alphabet="ab:{}[]'\",\n \t&*#|>-$%@!?\\", max_size=4))
        text = text[:start] + insert + text[end:]
    check(folder, text)
