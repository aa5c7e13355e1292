"""Resolves what flows read: every name exists, there are no cycles, and no two flows write to the same place."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from barnabas.pipeline.project.flow_section import DraftFlow
from barnabas.pipeline.project.model import Flow, PythonFunction, Source, TableOutput, TopicOutput
from barnabas.pipeline.project.problems import Place, Report
from barnabas.spark.options.names import nearest


def resolve_references(
    drafts: Sequence[DraftFlow], sources: Mapping[str, Source], tables: Iterable[str], report: Report
) -> dict[str, Flow]:
    """The flows with their inputs, each after the flows that it reads."""
    # If two have the same name, which is reported as a mistake, the source is used.
    known = {name.lower(): name for name in (*(each.flow.name for each in drafts), *tables, *sources)}
    inputs = {each.flow.name: _inputs(each, known, report) for each in drafts}
    by_name = {each.flow.name: each for each in drafts}
    order = _topological_order(by_name, inputs, report)
    flows = {name: replace(by_name[name].flow, inputs=inputs[name]) for name in order}
    if len(order) == len(by_name):
        _check_streamable(flows, by_name, sources, report)
        _check_cycles_through_topics(flows, by_name, sources, report)
    return flows


def check_outputs(drafts: Sequence[DraftFlow], dead_letters: tuple[str, Place], report: Report) -> None:
    """Refuse two writers of the same topic or folder."""
    writers: dict[str, str] = {f"topic {dead_letters[0]}": "the dead letters"}
    for draft in drafts:
        output = draft.flow.output
        if isinstance(output, TopicOutput):
            target = f"topic {output.topic}"
        elif isinstance(output, TableOutput):
            target = f"table {os.path.normpath(output.path)}"
        else:
            continue
        kind = target.partition(" ")[0]
        if target in writers:
            name = output.topic if isinstance(output, TopicOutput) else os.path.basename(os.path.normpath(output.path))
            report.add(
                draft.output_place,
                f"flow `{draft.flow.name}` and {writers[target]} both write to the {kind} `{name}`",
                f"give one of them another {kind}, or join both flows by UNION ALL in a third",
            )
        else:
            writers[target] = f"flow `{draft.flow.name}`"


def _inputs(draft: DraftFlow, known: Mapping[str, str], report: Report) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for wanted in draft.wanted:
        name = known.get(wanted.name.lower())
        if name is not None:
            found[name] = None
        elif not wanted.optional:
            guess = nearest(wanted.name, known.values())
            hint = f"did you mean `{guess}`?" if guess else "declare it under `sources:`, `tables:` or `flows:`"
            message = f"flow `{draft.flow.name}` reads `{wanted.name}`, which is not a source, table or flow"
            report.add(wanted.place, message, hint)
    return tuple(found)


def _topological_order(
    drafts: Mapping[str, DraftFlow], inputs: Mapping[str, tuple[str, ...]], report: Report
) -> tuple[str, ...]:
    """Depth first, without recursion: a chain of flows may be long."""
    order: dict[str, None] = {}
    circular = set[str]()
    for first in drafts:
        path: list[str] = []
        pending: list[tuple[str, bool]] = [(first, False)]
        while pending:
            name, is_done = pending.pop()
            if is_done:
                path.pop()
                order[name] = None
            elif name in path:
                cycle = path[path.index(name) :]
                if not circular & set(cycle):
                    _report_cycle(drafts[cycle[0]], cycle, report)
                circular |= set(cycle)
            elif name not in order:
                path.append(name)
                pending.append((name, True))
                pending += [(each, False) for each in reversed(inputs[name]) if each in drafts]
    return () if circular else tuple(order)


def _report_cycle(draft: DraftFlow, cycle: Sequence[str], report: Report) -> None:
    if len(cycle) == 1:
        message = f"flow `{cycle[0]}` reads itself"
    else:
        message = f"flows read each other in a cycle: {' <- '.join([*cycle, cycle[0]])}"
    report.add(draft.name_place, message, "let one of them read a source or a table instead")


def _check_streamable(
    flows: Mapping[str, Flow], drafts: Mapping[str, DraftFlow], sources: Mapping[str, Source], report: Report
) -> None:
    streaming = set(sources)
    for name, flow in flows.items():
        if streaming & set(flow.inputs):
            streaming.add(name)
        elif flow.output is not None and _is_readable(drafts[name], flow):
            report.add(
                drafts[name].name_place,
                f"flow `{name}` reads no source, so its output would stay empty",
                "let it read a source, directly or through another flow",
            )


def _check_cycles_through_topics(
    flows: Mapping[str, Flow], drafts: Mapping[str, DraftFlow], sources: Mapping[str, Source], report: Report
) -> None:
    """Refuse a flow whose output comes back to it through a topic: it would never end."""
    readers: dict[str, list[str]] = {}
    for source in sources.values():
        readers.setdefault(source.topic, []).append(source.name)
    reaches: dict[str, set[str]] = {}
    for name in flows:
        reached_offsets, pending = set[str](), [name]
        while pending:
            current = pending.pop()
            output = flows[current].output if current in flows else None
            following = [other.name for other in flows.values() if current in other.inputs]
            if isinstance(output, TopicOutput):
                following += readers.get(output.topic, [])
            for each in following:
                if each not in reached_offsets:
                    reached_offsets.add(each)
                    pending.append(each)
        reaches[name] = reached_offsets
    for name, reached_offsets in reaches.items():
        output = flows[name].output
        if name in reached_offsets and isinstance(output, TopicOutput) and output.topic in readers:
            report.add(
                drafts[name].output_place,
                f"what flow `{name}` writes to the topic `{output.topic}` comes back to it through source "
                f"`{readers[output.topic][0]}`",
                "write to another topic",
            )


def _is_readable(draft: DraftFlow, flow: Flow) -> bool:
    """Whether the inputs of the flow are known; if not, that is already reported."""
    found = {name.lower() for name in flow.inputs}
    is_there = isinstance(flow.transform, PythonFunction) or bool(flow.transform.text)
    return is_there and all(each.name.lower() in found for each in draft.wanted)
