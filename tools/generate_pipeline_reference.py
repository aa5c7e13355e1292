"""Writes the tables of `docs/pipelines.md`: every key of pipeline.yaml, from the table that the reader itself uses.

Only what stands between the markers is replaced; the prose around it is written by hand. Run it after a change of
`pipeline/project/keys.py`: `make reference`. A test fails when the page and the code differ.
"""

from pathlib import Path

from barnabas.pipeline.project.keys import SECTIONS, Section

PAGE = Path(__file__).resolve().parent.parent / "docs" / "pipelines.md"
BEGIN, END = "<!-- keys: made by `make reference` -->", "<!-- end of keys -->"


def generate(page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{PAGE} has lost its markers: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{''.join(_section(each) for each in SECTIONS)}{END}{after}"


def _section(section: Section) -> str:
    paths = ", ".join(f"`{path}`" for path in section.path.split(", "))
    rows = "".join(
        f"| `{key.name}` | {key.takes} | {'required. ' if key.required else ''}{key.about} |\n" for key in section.keys
    )
    return f"### {paths}\n\n{section.about}\n\n| Key | Takes | |\n|---|---|---|\n{rows}\n"


if __name__ == "__main__":
    PAGE.write_text(generate(PAGE.read_text()))
