"""Lineage as a Mermaid flow chart, which GitHub and many wikis draw."""

from barnabas.pipeline.graph.model import Box, Graph, Kind

_SHAPES = {
    Kind.TOPIC: ("[(", ")]"),
    Kind.SOURCE: ("([", "])"),
    Kind.TABLE: ("[(", ")]"),
    Kind.FLOW: ("[", "]"),
    Kind.VIEW: ("(", ")"),
    Kind.CONSOLE: ("[/", "/]"),
    Kind.DEAD_LETTERS: ("[(", ")]"),
}


def mermaid_of(graph: Graph) -> str:
    ids = {box.id: f"n{index}" for index, box in enumerate(graph.boxes)}
    lines = ["flowchart LR"]
    lines += [f"    {ids[box.id]}{_shape(box)}" for box in graph.boxes]
    lines += [f"    {ids[arrow.start]} {'-.->' if arrow.is_bad else '-->'} {ids[arrow.end]}" for arrow in graph.arrows]
    return "\n".join(lines) + "\n"


def _shape(box: Box) -> str:
    begin, end = _SHAPES[box.kind]
    rules = [f"{rule.name}: {rule.rule}, otherwise {rule.otherwise}" for rule in box.rules]
    text = "<br/>".join(
        _escaped(line) for line in (box.kind if box.kind == box.name else f"{box.kind} {box.name}", *rules)
    )
    return f'{begin}"{text}"{end}'


def _escaped(text: str) -> str:
    """Escapes characters that have a meaning in Mermaid."""
    return "".join(
        character if character.isalnum() or character in " .,:;/_-+*'()" else f"#{ord(character)};"
        for character in text
    )
