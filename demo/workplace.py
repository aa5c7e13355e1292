"""Prepares the project in the folder of a run."""

import difflib
import shutil
from pathlib import Path

from demo.plan import Plan
from demo.telemetry import devices_of

HERE = Path(__file__).parent
PROJECT = HERE / "project"
CHANGED = HERE / "changed"


def make_project(folder: Path, plan: Plan) -> Path:
    """A copy of demo/project with a table of the plan's devices."""
    project = folder / "project"
    shutil.copytree(PROJECT, project)
    table = project / "data" / "devices.csv"
    table.parent.mkdir(exist_ok=True)
    rows = [f"{device.name},{device.group},{device.usual}" for device in devices_of(plan)]
    table.write_text("\n".join(["device,device_group,usual", *rows, ""]))
    return project


def change_logic(project: Path) -> list[str]:
    """Replace the flows by the changed ones. Returns the lines that differ."""
    lines: list[str] = []
    for changed in sorted(path for path in CHANGED.rglob("*") if path.is_file() and path.suffix in (".sql", ".py")):
        name = changed.relative_to(CHANGED)
        old, new = (project / name).read_text(), changed.read_text()
        difference = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
        lines += [f"{name}: {line}" for line in list(difference)[2:] if not line.startswith("@@")]
        shutil.copyfile(changed, project / name)
    return lines
