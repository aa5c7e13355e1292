"""PySpark source and sink for any Kafka, found by Spark as format("barnabas")."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.spark.errors import UserError as UserError
    from barnabas.spark.launch import session as session
    from barnabas.spark.readable import explain as explain
    from barnabas.spark.readable import readable_errors as readable_errors

_PLACES = {
    "UserError": "barnabas.spark.errors",
    "explain": "barnabas.spark.readable",
    "readable_errors": "barnabas.spark.readable",
    "session": "barnabas.spark.launch",
}

__all__ = ["UserError", "explain", "readable_errors", "session"]


def __getattr__(name: str) -> object:
    """Imported when asked for: a Python worker of Spark imports this package for every task and needs no session."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)
