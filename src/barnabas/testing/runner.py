"""Runs a test broker: in a thread of this process, or in a process of its own."""

from collections.abc import Mapping
from typing import Protocol


class BrokerDidNotStart(RuntimeError):
    """The message is the broker's own."""


class Runner(Protocol):
    def start(self, properties: Mapping[str, str]) -> int:
        """Start and return the port once clients can connect; raises BrokerDidNotStart."""

    def stop(self) -> None:
        """Stop cleanly if it is running."""

    def is_running(self) -> bool: ...
