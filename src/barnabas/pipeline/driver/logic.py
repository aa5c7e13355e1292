"""The logic that a version runs: copied beside its checkpoints when it first runs, compared when it runs again.

A checkpoint holds the state of one query. If another query continued from it, the output would mix rows of both, and
nobody could tell which logic made which row. So a version keeps its logic; new logic is a new version (`replay`),
unless the user accepts the change (`run --accept-changes`).
"""

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from barnabas.pipeline.driver.changes import changes
from barnabas.pipeline.location import FILE_NAME
from barnabas.pipeline.project import load
from barnabas.pipeline.project.files import kept_name
from barnabas.pipeline.project.model import Project
from barnabas.spark.errors import UserError

FOLDER = "logic"
_BEFORE = f"{FOLDER}-until-"
"""Logic that was replaced by accepted changes."""
_PLANNED_BATCHES = "*/checkpoint/offsets/[0-9]*"


def logic_folder(state_folder: Path) -> Path:
    return state_folder / FOLDER


def check_logic(project: Project, version: str, *, accept_changes: bool = False) -> list[str]:
    """Refuse logic that differs from what the version was started with. Returns the changes that were accepted."""
    state = project.state_folder(version)
    folder = logic_folder(state)
    _recover(folder)
    started = _checkpoints(state)
    if not started:
        return []  # whatever is kept here, it has not processed anything
    if not folder.is_dir():
        raise UserError(
            f"{state} has checkpoints ({', '.join(started)}), but not the logic that {version} was started with: they "
            "belong to something else",
            f"move {state} away, and the outputs to be written again; or choose another version: --version NAME",
        )
    if _texts(folder) == _kept_texts(project):
        return []
    found = _changes(project, version, folder, accept_changes=accept_changes)
    if found and not accept_changes:
        listed = "\n".join(f"  - {each}" for each in found)
        raise UserError(
            f"{version} was started with logic that differs from the project's logic now:\n{listed}",
            "run the new logic over the history, beside the old: barnabas pipeline replay --as NAME; or continue "
            "with the old: barnabas pipeline run --as-started; or use the new logic for new rows only: "
            "barnabas pipeline run --accept-changes",
        )
    return found


def keep_logic(project: Project, version: str) -> None:
    """Store the current logic; the logic stored before is kept under another name."""
    folder = logic_folder(project.state_folder(version))
    if folder.is_dir():
        if _texts(folder) == _kept_texts(project):
            return
        folder.rename(folder.with_name(f"{_BEFORE}{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.getpid()}"))
    _write(folder, _kept_texts(project))


def _changes(project: Project, version: str, folder: Path, *, accept_changes: bool) -> list[str]:
    try:
        kept = load(project.file, profile=project.profile, overrides=project.overrides, kept=folder)
    except UserError as error:
        if not accept_changes:
            raise UserError(
                f"the logic that {version} was started with, in {folder}, can no longer be read: {error.message}",
                "use the current logic: --accept-changes; or run it beside the old: barnabas pipeline replay --as NAME",
            ) from error
        return [f"the logic that {version} was started with can no longer be read"]
    return changes(kept, project)


def _checkpoints(state: Path) -> list[str]:
    """Of queries that have started a batch."""
    return sorted({each.relative_to(state).parts[0] for each in state.glob(_PLANNED_BATCHES)})


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """All of it or nothing: a crash in the middle leaves a folder of another name."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    for name, text in texts.items():
        path = temporary / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    temporary.rename(folder)


def _recover(folder: Path) -> None:
    """Repair after a crash between moving the old logic away and writing the new."""
    before = sorted(folder.parent.glob(f"{_BEFORE}*"))
    if before and not folder.is_dir():
        before[-1].rename(folder)


def _kept_texts(project: Project) -> dict[str, str]:
    return {kept_name(name): text for name, text in project.texts.items()}


def _texts(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8", errors="replace")
        for path in folder.rglob("*")
        if path.is_file()
    }


def kept_logic(state_folder: Path, version: str) -> Path:
    """For `run --as-started`."""
    folder = logic_folder(state_folder)
    if not folder.is_dir():
        raise UserError(
            f"{version} has never run here, so it has no stored logic",
            f"run it without --as-started: it then stores the logic of the current {FILE_NAME}",
        )
    return folder
