"""Writes the tables of `docs/pipelines.md`: every key of pipeline.yaml, from the table that the parser itself uses; and
its picture, the lineage of the project that `barnabas pipeline init` creates.

Only the text between the markers is replaced; the prose around it is written by hand. Run it after changing
`pipeline/project/keys.py`, the template or the drawing: `make reference`. A test fails when the page or the picture and
the code differ.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from barnabas.pipeline.graph.model import graph_of
from barnabas.pipeline.graph.svg import svg_of
from barnabas.pipeline.project import load
from barnabas.pipeline.project.init import init
from barnabas.pipeline.project.keys import SECTIONS, Section

PAGE = Path(__file__).resolve().parent.parent / "docs" / "pipelines.md"
PICTURE = PAGE.parent / "images" / "lineage.svg"
BEGIN, END = "<!-- keys: made by `make reference` -->", "<!-- end of keys -->"


def generate(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{PAGE} has no markers: add {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{''.join(_section(each) for each in SECTIONS)}{END}{after}"


def picture() -> str:
    with TemporaryDirectory() as folder:
        project = Path(folder) / "telemetry"
        init(project, "telemetry")
        return svg_of(graph_of(load(project, environment={})))


def _section(section: Section) -> str:
    paths = ", ".join(f"`{path}`" for path in section.path.split(", "))
    rows = "".join(
        f"| `{key.name}` | {key.takes} | {'required. ' if key.required else ''}{key.about} |\n" for key in section.keys
    )
    return f"### {paths}\n\n{section.about}\n\n| Key | Takes | |\n|---|---|---|\n{rows}\n"


if __name__ == "__main__":
    PAGE.write_text(generate(PAGE.read_text()))
    PICTURE.write_text(picture())
