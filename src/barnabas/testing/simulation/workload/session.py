"""A client that reconnects: calls are retried by their callers, connections are made again here."""

import asyncio
from typing import Any, Final

from barnabas.testing.simulation.client import Client
from barnabas.wire.errors import ErrorCode

RETRY_S: Final = 0.1
REQUEST_S: Final = 3.0


class Unavailable(Exception):
    """No answer, or an answer that asks for patience: try again."""


TRY_AGAIN: Final = frozenset(
    {
        ErrorCode.coordinator_load_in_progress,
        ErrorCode.coordinator_not_available,
        ErrorCode.kafka_storage_error,
        ErrorCode.leader_not_available,
        ErrorCode.not_controller,
        ErrorCode.not_coordinator,
        ErrorCode.not_leader_or_follower,
        ErrorCode.request_timed_out,
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.fenced_leader_epoch,
        ErrorCode.unknown_leader_epoch,
    }
)


class Session:
    def __init__(self, host: str, name: str) -> None:
        self._host = host
        self._name = name
        self._client: Client | None = None

    async def call(self, api_name: str, version: int, request: object, *, timeout_s: float = REQUEST_S) -> Any:
        try:
            if self._client is None:
                self._client = await Client.connect(self._host, client_id=self._name, timeout_s=timeout_s)
            return await self._client.call(api_name, version, request, timeout_s=timeout_s)
        except OSError as error:  # a TimeoutError is one
            self.close()
            raise Unavailable(str(error)) from error

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def check(code: ErrorCode) -> None:
    if code in TRY_AGAIN:
        raise Unavailable(code.name)
    if code != ErrorCode.none:
        raise UnexpectedCode(code)


class UnexpectedCode(Exception):
    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


async def pause() -> None:
    await asyncio.sleep(RETRY_S)
