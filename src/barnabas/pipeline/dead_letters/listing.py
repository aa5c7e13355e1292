"""Lists dead letters and counts them by reason. Without Spark."""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.pipeline.dead_letters.positions import Positions
from barnabas.pipeline.dead_letters.reading import Letter, committed_range, letters
from barnabas.pipeline.log_client import connected
from barnabas.pipeline.project.model import Project
from barnabas.spark.errors import UserError


@dataclass(frozen=True)
class Reason:
    """Dead letters that were refused for the same reason."""

    origin: str
    version: str
    rule: str | None
    """None: they do not match the schema."""
    count: int
    waiting: int
    """How many were not sent again yet. Dead letters of flows cannot be sent again, so all of them count."""
    example: str


@dataclass(frozen=True)
class Overview:
    topic: str
    reasons: Sequence[Reason]
    newest: Sequence[Letter]
    """The oldest of them first."""
    total: int


def overview_of(project: Project, *, origin: str | None, limit: int) -> Overview:
    check_origin(project, origin)
    topic = project.dead_letters.topic
    counts: Counter[tuple[str, str, str | None]] = Counter()
    waiting: Counter[tuple[str, str, str | None]] = Counter()
    examples: dict[tuple[str, str, str | None], str] = {}
    newest: list[Letter] = []
    with connected(project.log) as cluster:
        there = committed_range(cluster, topic)
        positions = Positions.read(cluster, project.name, topic)
        for partition, start in there.starts.items():
            last: deque[Letter] = deque(maxlen=limit)
            for letter in letters(cluster, topic, partition, start, there.ends[partition]):
                if not is_ours(letter, project, origin):
                    continue
                reason = (letter.origin, letter.version, letter.rule)
                counts[reason] += 1
                waiting[reason] += letter.offset >= positions.next(letter.version, letter.origin, partition)
                examples[reason] = letter.error
                last.append(letter)
            newest += last
    newest.sort(key=lambda letter: (letter.timestamp_ms, letter.partition, letter.offset))
    reasons = [
        Reason(*reason, count, waiting[reason], examples[reason])
        for reason, count in sorted(counts.items(), key=lambda each: (each[0][0], each[0][1], each[0][2] or ""))
    ]
    return Overview(topic, reasons, newest[-limit:], counts.total())


def is_ours(letter: Letter, project: Project, origin: str | None) -> bool:
    """Several pipelines may share a topic of dead letters."""
    return letter.pipeline in (None, project.name) and origin in (None, letter.origin)


def check_origin(project: Project, origin: str | None) -> None:
    known = [*project.sources, *project.flows]
    if origin is not None and origin not in known:
        raise UserError(f"there is no source or flow `{origin}`", f"there are {', '.join(known)}")
