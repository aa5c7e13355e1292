"""Which names a topic may have."""

import re
from collections.abc import Iterable
from typing import Final

from barnabas.model import INTERNAL_TOPICS, METADATA_TOPIC

NAME_LENGTH_MAX: Final = 249
"""A directory is named <topic>-<partition>, renamed to <topic>-<partition>.<32 hex>-delete, within 255 bytes."""

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def why_invalid(name: str) -> str | None:
    """Kafka's sentence on what is wrong with the name, or None."""
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
    """The broker's own: clients may not create, grow or delete them."""
    return name == METADATA_TOPIC or name in INTERNAL_TOPICS


def collision(name: str, existing: Iterable[str]) -> str | None:
    """A topic that becomes the same metric name, where '.' and '_' are one character. Itself does not count."""
    if "." not in name and "_" not in name:
        return None
    unified = name.replace(".", "_")
    return next((other for other in existing if other != name and other.replace(".", "_") == unified), None)
