"""A broker for tests that starts in milliseconds, virtual time, and a simulated disk.

from barnabas.testing import Broker

with Broker() as broker:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.testing.broker import Broker as Broker
    from barnabas.testing.clock import VirtualClock as VirtualClock

__all__ = ["Broker", "VirtualClock"]

_MODULES = {"Broker": "barnabas.testing.broker", "VirtualClock": "barnabas.testing.clock"}


def __getattr__(name: str) -> object:
    """Imported on first use, because pytest loads this package in every project that has it installed."""
    if name in _MODULES:
        found: object = getattr(import_module(_MODULES[name]), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
