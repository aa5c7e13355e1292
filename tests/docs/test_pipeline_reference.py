"""docs/pipelines.md lists every key of pipeline.yaml, and its example is a valid project."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from barnabas.pipeline.project import load
from barnabas.pipeline.project.keys import SECTIONS

ROOT = Path(__file__).resolve().parents[2]
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


def test_the_example_is_a_good_project(tmp_path: Path) -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert example is not None
    (tmp_path / "pipeline.yaml").write_text(example[1])
    assert list(load(tmp_path, environment={}).flows) == ["averages"]
