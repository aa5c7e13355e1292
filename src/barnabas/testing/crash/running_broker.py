"""A running broker as the workload sees it, simulated or a process."""

from typing import Any, Protocol


class BrokerDied(Exception):
    """At the crash point, or because it detected that it could not continue."""


class Refused(Exception):
    """The broker answered with an error."""


class NotReady(Refused):
    """Expected shortly; if it does not come, a promise is broken."""


class RunningBroker(Protocol):
    async def call(self, api_name: str, version: int, request: object) -> Any:
        """BrokerDied: it may have handled the request or not."""

    async def pass_ms(self, duration_ms: int) -> None:
        """Let time pass, so that the broker runs its chores."""
