"""One life of a broker as the workload sees it, whether simulated or a process."""

from typing import Any, Protocol


class BrokerDied(Exception):
    """At the step that was chosen for it, or because it saw that it could not go on."""


class Refused(Exception):
    """The broker answered with an error."""


class NotYet(Refused):
    """It will be there shortly, or a promise is broken."""


class Life(Protocol):
    async def call(self, api_name: str, version: int, request: object) -> Any:
        """BrokerDied: whether it did what was asked is not known."""

    async def pass_ms(self, duration_ms: int) -> None:
        """Let time pass, and the broker do its chores."""
