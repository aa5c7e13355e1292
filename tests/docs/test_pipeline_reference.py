"""docs/pipelines.md lists every key of pipeline.yaml, and its example is a valid project."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from followed_pages import Followed
from page_blocks import ROOT, blocks_on

from barnabas.pipeline.fixtures.files import read_cases
from barnabas.pipeline.project import load
from barnabas.pipeline.project.keys import SECTIONS
from barnabas.pipeline.project.problems import ProjectInvalid

PAGE = ROOT / "docs" / "pipelines.md"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_reference", ROOT / "tools/generate_pipeline_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_generator_makes() -> None:
    page = PAGE.read_text()
    assert generator().generate(page) == page, "docs/pipelines.md is stale: run `make reference`"


def test_the_picture_is_what_the_template_draws() -> None:
    made = generator()
    assert made.PICTURE.read_text() == made.picture(), "docs/images/lineage.svg is stale: run `make reference`"


def test_every_key_is_there() -> None:
    page = PAGE.read_text()
    for section in SECTIONS:
        for key in section.keys:
            assert f"| `{key.name}` | {key.takes} |" in page


def example(folder: Path, *changes: tuple[str, str]) -> Path:
    """The project of the page, with other text in its file."""
    (text,) = (block.text for block in blocks_on("docs/pipelines.md") if block.text.startswith("name: "))
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "pipeline.yaml").write_text(text)
    return folder


def test_the_example_is_a_good_project(tmp_path: Path, followed: Followed) -> None:
    (block,) = followed("docs/pipelines.md")
    (tmp_path / "pipeline.yaml").write_text(block.text)
    assert list(load(tmp_path, environment={}).flows) == ["averages"]


def test_rules_and_a_function_fit_the_example(tmp_path: Path, followed: Followed) -> None:
    function, rules = followed("docs/pipelines.md")
    old_rules = '    expect:\n      plausible: {rule: "value BETWEEN -50 AND 150", otherwise: dead-letter}\n'
    more = "\n  anomalies: {python: anomalies.py:anomalies, output: {topic: anomalies}}\n\ndead_letters:"
    (tmp_path / "anomalies.py").write_text(function.text)
    (tmp_path / "devices.csv").write_text("device\nd1\n")
    tables = 'tables:\n  devices: {csv: devices.csv, schema: "device STRING"}\n\nflows:\n'
    project = load(
        example(tmp_path, (old_rules, rules.text), ("flows:\n", tables), ("\ndead_letters:", more)), environment={}
    )
    assert [rule.name for rule in project.sources["readings"].expect] == ["plausible", "known", "recent"]
    assert "anomalies" in project.flows


def test_the_mistake_is_reported_like_that(tmp_path: Path, followed: Followed) -> None:
    (block,) = followed("docs/pipelines.md")
    with pytest.raises(ProjectInvalid) as caught:
        load(example(tmp_path, ("    topic: telemetry\n", "    topik: telemetry\n")), environment={})
    assert f"error: {caught.value.message}\nhint: {caught.value.hint}\n" == block.text


def test_the_files_of_a_case_have_these_names(tmp_path: Path, followed: Followed) -> None:
    (block,) = followed("docs/pipelines.md")
    for line in block.text.splitlines():
        file = tmp_path / line.split()[0]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}\n")
    (case,) = read_cases(load(example(tmp_path), environment={}), [])
    assert (case.name, [*case.inputs], [*case.expected], [*case.dead]) == (
        "averages",
        ["readings"],
        ["averages"],
        ["readings"],
    )
