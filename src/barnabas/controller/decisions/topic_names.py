"""Valid topic names."""

import re
from collections.abc import Iterable
from typing import Final

from barnabas.model import INTERNAL_TOPICS, METADATA_TOPIC

NAME_LENGTH_MAX: Final = 249
"""A directory is named <topic>-<partition>, renamed to <topic>-<partition>.<32 hex>-delete, within 255 bytes."""

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def why_invalid(name: str) -> str | None:
    """Kafka's message about what is wrong with the name, or None."""
    reason = _reason(name)
    return reason and f"Topic name is invalid: {reason}"


def _reason(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > NAME_LENGTH_MAX:
        return f"the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"
    if not _LEGAL.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def is_reserved(name: str) -> bool:
    """Internal topics: clients may not create, extend or delete them."""
    return name == METADATA_TOPIC or name in INTERNAL_TOPICS


class MetricNames:
    """Finds topics whose metric name collides with one of `wanted`: in metric names '.' and '_' are the same."""

    def __init__(self, existing: Iterable[str], wanted: Iterable[str]) -> None:
        ambiguous = {_metric_name(name) for name in wanted if "." in name or "_" in name}
        # One pass over all topics, however many are wanted.
        self._topics = {unified: name for name in existing if (unified := _metric_name(name)) in ambiguous}

    def other(self, name: str) -> str | None:
        other = self._topics.get(_metric_name(name))
        return None if other == name else other

    def add(self, name: str) -> None:
        self._topics[_metric_name(name)] = name


def _metric_name(topic: str) -> str:
    return topic.replace(".", "_")
