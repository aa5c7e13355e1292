"""A broker for tests, in milliseconds, and simulated time and disks.

from barnabas.testing import Broker

with Broker() as broker:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.testing.broker import Broker as Broker

__all__ = ["Broker"]


def __getattr__(name: str) -> object:
    """Imported when asked for: pytest loads this package with the plugin in every project that has it installed."""
    if name == "Broker":
        from barnabas.testing.broker import Broker

        return Broker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
