"""What runs a test broker: a thread of this process or a process of its own."""

from collections.abc import Mapping
from typing import Protocol


class BrokerDidNotStart(RuntimeError):
    """The text is what the broker had to say."""


class Runner(Protocol):
    def start(self, properties: Mapping[str, str]) -> int:
        """Start and return the port once clients can connect; raises BrokerDidNotStart."""

    def stop(self) -> None:
        """Stop cleanly, if it runs."""

    def is_running(self) -> bool: ...
