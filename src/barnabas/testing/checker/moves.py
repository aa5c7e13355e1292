"""Checks that each source record was transformed exactly once."""

from collections import defaultdict
from collections.abc import Iterator

from barnabas.testing.checker.anomalies import Anomaly, Kind
from barnabas.testing.checker.facts import Facts


def exactly_once_moves(facts: Facts) -> Iterator[Anomaly]:
    for source_topic, target_topic in facts.header.moves.items():
        made: dict[str, list[str]] = defaultdict(list)
        """source value: the committed records made from it"""
        for partition, log in facts.logs.items():
            if _topic_of(partition) == target_topic:
                for offset, seen in sorted(log.read["read_committed"].items()):
                    written = facts.written.get(seen.value)
                    if written is not None and facts.fate(written) != "absent":
                        made[written.source].append(f"{seen.value} at {partition}@{offset}")
        for source, places in made.items():
            if len(set(places)) > 1:
                what = f"from {source} were made {', '.join(places)}"
                yield Anomaly(Kind.PROCESSED_TWICE, target_topic, what, {"source": source, "made": places})
        for written in facts.written.values():
            if (
                _topic_of(written.partition) == source_topic
                and facts.fate(written) == "there"
                and written.value not in made
            ):
                what = f"nothing was made from {written.value} at offset {facts.place_of(written)}"
                evidence = {"source": written.value, "offset": facts.place_of(written)}
                yield Anomaly(Kind.UNPROCESSED, written.partition, what, evidence)


def _topic_of(partition: str) -> str:
    return partition.rpartition("-")[0]
