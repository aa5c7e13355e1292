"""PySpark source and sink for any Kafka, found by Spark as format("barnabas")."""

from typing import TYPE_CHECKING

from barnabas.spark.disconnects import silence_disconnects

if TYPE_CHECKING:
    from barnabas.spark.errors import UserError as UserError
    from barnabas.spark.history_source import history as history
    from barnabas.spark.launch import session as session
    from barnabas.spark.pointer_reader import table as table
    from barnabas.spark.query.watch import Watch as Watch
    from barnabas.spark.query.watch import watch as watch
    from barnabas.spark.readable import explain as explain
    from barnabas.spark.readable import readable_errors as readable_errors

_PLACES = {
    "UserError": "barnabas.spark.errors",
    "Watch": "barnabas.spark.query.watch",
    "explain": "barnabas.spark.readable",
    "history": "barnabas.spark.history_source",
    "readable_errors": "barnabas.spark.readable",
    "session": "barnabas.spark.launch",
    "table": "barnabas.spark.pointer_reader",
    "watch": "barnabas.spark.query.watch",
}

__all__ = ["UserError", "Watch", "explain", "history", "readable_errors", "session", "table", "watch"]

silence_disconnects()  # here, because every Python worker that runs our code imports this


def __getattr__(name: str) -> object:
    """Import on first use: Spark's Python workers import this package for every task and need no session."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)
