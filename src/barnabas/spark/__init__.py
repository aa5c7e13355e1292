"""PySpark source and sink for any Kafka, found by Spark as format("barnabas")."""

from typing import TYPE_CHECKING

from barnabas.spark.hang_ups import hush

if TYPE_CHECKING:
    from barnabas.spark.errors import UserError as UserError
    from barnabas.spark.launch import session as session
    from barnabas.spark.pointed import table as table
    from barnabas.spark.query.watch import Watch as Watch
    from barnabas.spark.query.watch import watch as watch
    from barnabas.spark.readable import explain as explain
    from barnabas.spark.readable import readable_errors as readable_errors
    from barnabas.spark.tiered import history as history

_PLACES = {
    "UserError": "barnabas.spark.errors",
    "Watch": "barnabas.spark.query.watch",
    "explain": "barnabas.spark.readable",
    "history": "barnabas.spark.tiered",
    "readable_errors": "barnabas.spark.readable",
    "session": "barnabas.spark.launch",
    "table": "barnabas.spark.pointed",
    "watch": "barnabas.spark.query.watch",
}

__all__ = ["UserError", "Watch", "explain", "history", "readable_errors", "session", "table", "watch"]

hush()  # here, because this is what every Python worker imports that runs our code


def __getattr__(name: str) -> object:
    """Imported when asked for: a Python worker of Spark imports this package for every task and needs no session."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)
