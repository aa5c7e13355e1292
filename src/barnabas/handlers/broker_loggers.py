"""The broker's loggers as a config resource: levels can be read and set at run time, and are lost on restart.

They are Python loggers: `root`, `barnabas` and its children. Kafka's levels map to Python's; TRACE, which Python
lacks, is everything below DEBUG.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from barnabas.controller.decisions.alter_configs import Operation, check_operations
from barnabas.wire.errors import InvalidConfig, InvalidRequest

ROOT: Final = "root"
SET, DELETE = 0, 1
_ALWAYS: Final = ("barnabas", "barnabas.client_metrics")
"""Listed even before anything was logged there."""
_OPERATIONS: Final = {2: "APPEND", 3: "SUBTRACT"}
_LEVELS: Final = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": 5,
    "WARN": logging.WARNING,
}


def describe_loggers() -> Mapping[str, str]:
    """Every existing logger and its level. Kafka's script refuses to set the level of any other."""
    names = sorted({*logging.root.manager.loggerDict, *_ALWAYS})
    return {ROOT: _level_name(logging.root)} | {name: _level_name(logging.getLogger(name)) for name in names}


def _level_name(logger: logging.Logger) -> str:
    level = logger.getEffectiveLevel()
    reached = [name for name, value in sorted(_LEVELS.items(), key=lambda item: item[1]) if value <= level]
    return reached[-1] if reached else "TRACE"


def alter_loggers(node_id: int, name: str, operations: Iterable[Any], *, validate_only: bool) -> None:
    """Apply all changes or none. Raises InvalidRequest or InvalidConfig with Kafka's messages."""
    check_node(node_id, name)
    changes = list(operations)
    check_operations([Operation(change.name, change.config_operation, change.value) for change in changes])
    for change in changes:
        _check(change)
    if validate_only:
        return
    for change in changes:
        logger = logging.getLogger(None if change.name == ROOT else change.name)
        logger.setLevel(logging.NOTSET if change.config_operation == DELETE else _LEVELS[change.value])


def check_node(node_id: int, name: str) -> None:
    if not name.lstrip("-").isdecimal():
        raise InvalidRequest(f"Node id must be an integer, but it is: {name}")
    if int(name) != node_id:
        raise InvalidRequest(f"Unexpected node id. Expected {node_id}, but received {name}")


def _check(change: Any) -> None:
    operation = change.config_operation
    if operation not in (SET, DELETE):
        raise InvalidRequest(f"{_OPERATIONS[operation]} operation is not allowed for the BROKER_LOGGER resource")
    if not _exists(change.name):
        raise InvalidConfig(f"Logger {change.name} does not exist!")
    if operation == DELETE and change.name == ROOT:
        raise InvalidRequest("Removing the log level of the root logger is not allowed")
    if operation == SET and change.value not in _LEVELS:
        raise InvalidConfig(
            f"Cannot set the log level of {change.name} to {change.value} as it is not a supported log level."
            f" Valid log levels are {', '.join(_LEVELS)}"
        )


def _exists(name: str) -> bool:
    """A module that was not imported yet has no logger, but its level may be set already."""
    ours = name == "barnabas" or (name.startswith("barnabas.") and len(name) <= 200)
    return ours or name == ROOT or isinstance(logging.root.manager.loggerDict.get(name), logging.Logger)
