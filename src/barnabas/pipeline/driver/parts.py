"""Which queries a run has, and the part of the project that each of them needs."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from barnabas.pipeline.project.model import Flow, Project
from barnabas.spark.errors import UserError
from barnabas.spark.options.names import nearest

T = TypeVar("T")


def chosen_flows(project: Project, names: Sequence[str] | None) -> tuple[Flow, ...]:
    """The flows with these names, or all that have an output."""
    running = {flow.name: flow for flow in project.running_flows()}
    if not running:
        raise UserError("no flow of the project has an output, so there is nothing to run", "give one an `output:`")
    if names is None:
        return tuple(running.values())
    for name in names:
        if name not in running:
            guess = nearest(name, running)
            what = "has no output" if name in project.flows else "does not exist"
            raise UserError(
                f"the flow `{name}` {what}", f"did you mean `{guess}`?" if guess else f"there are {', '.join(running)}"
            )
    return tuple(flow for name, flow in running.items() if name in names)


def part_for(project: Project, flows: Iterable[str], sources: Iterable[str] = ()) -> Project:
    """The project with these flows and sources, all that they read, and nothing else."""
    wanted, pending = set(sources), list(flows)
    while pending:
        name = pending.pop()
        if name not in wanted:
            wanted.add(name)
            pending += project.flows[name].inputs if name in project.flows else ()
    return dataclasses.replace(
        project,
        sources=_only(project.sources, wanted),
        tables=_only(project.tables, wanted),
        flows=_only(project.flows, wanted),
    )


def has_written(checkpoint: Path) -> bool:
    """Whether a batch was finished with this checkpoint."""
    commits = checkpoint / "commits"
    return commits.is_dir() and any(each.name.isdigit() for each in commits.iterdir())


def _only(named: Mapping[str, T], wanted: Collection[str]) -> dict[str, T]:
    return {name: each for name, each in named.items() if name in wanted}
