"""Checks the names in a project: they must work in SQL, as topics and as folders."""

import re

from barnabas.pipeline.project.nodes import Scalar
from barnabas.pipeline.project.problems import Report

_IN_SQL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TOPIC = re.compile(r"[A-Za-z0-9._-]+")
_TOPIC_MAX = 249
"""Kafka's limit: the name and a partition number make a folder name."""
_PROJECT_MAX = 100
"""It is a prefix of topics and transactional ids, and leaves room for the rest."""


def check_name(name: Scalar, what: str, report: Report) -> None:
    """Of a source, table or flow: SQL uses it, and folders have it as their name."""
    if not _IN_SQL.fullmatch(name.text) or len(name.text) > _PROJECT_MAX:
        report.add(
            name.place,
            f"`{name.text}` cannot be the name of a {what}",
            f"use letters, digits and _, at most {_PROJECT_MAX}, not beginning with a digit",
        )


def check_project_name(name: Scalar, report: Report) -> None:
    if not _PROJECT.fullmatch(name.text) or len(name.text) > _PROJECT_MAX:
        report.add(
            name.place,
            f"`{name.text}` cannot be the name of a project",
            f"use letters, digits, `.`, `_` and `-`, at most {_PROJECT_MAX}, beginning with a letter or digit",
        )


def check_topic(topic: Scalar, report: Report) -> None:
    if not _TOPIC.fullmatch(topic.text) or topic.text in (".", "..") or len(topic.text) > _TOPIC_MAX:
        report.add(
            topic.place,
            f"`{topic.text}` cannot be the name of a topic",
            f"use letters, digits, `.`, `_` and `-`, at most {_TOPIC_MAX}",
        )
