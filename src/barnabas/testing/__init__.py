"""A broker for tests, in milliseconds, and simulated time and disks.

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
    """Imported when asked for: pytest loads this package with the plugin in every project that has it installed."""
    if name in _MODULES:
        found: object = getattr(import_module(_MODULES[name]), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
