"""A small Kafka client for simulated nodes: one connection, one request at a time, every version of every API.

It is `barnabas.testing.client` on an event loop. There are no retries: what a client does after an error is what a test
wants to decide.
"""

import asyncio
import struct
from typing import Any, Final, Self

from barnabas.client.connection import request_header
from barnabas.wire.codec import decode_response, encode_request, is_flexible

TIMEOUT_S: Final = 10.0
_ID_BYTES: Final = 4


class Client:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str, timeout_s: float
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._client_id = client_id
        self._timeout_s = timeout_s
        self._last_id = 0
        self._one_at_a_time = asyncio.Lock()

    @classmethod
    async def connect(
        cls, host: str, port: int = 9092, *, client_id: str = "simulated", timeout_s: float = TIMEOUT_S
    ) -> Self:
        """OSError: it is refused, or nothing answers in time."""
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(host, port)
        return cls(reader, writer, client_id, timeout_s)

    async def call(self, api_name: str, version: int, request: object, *, timeout_s: float | None = None) -> Any:
        """One round trip. OSError: the broker may have handled the request or not, and the connection is closed."""
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(timeout_s or self._timeout_s):
                    return await self._exchange(api_name, version, request)
            except asyncio.IncompleteReadError as error:
                self.close()
                raise ConnectionResetError("the broker closed the connection") from error
            except BaseException:
                self.close()
                raise

    async def _exchange(self, api_name: str, version: int, request: object) -> Any:
        self._last_id += 1
        header = request_header(api_name, version, self._last_id, self._client_id)
        frame = header + encode_request(api_name, version, request)
        self._writer.write(struct.pack(">i", len(frame)) + frame)
        await self._writer.drain()
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        payload = await self._reader.readexactly(size)
        (answered,) = struct.unpack_from(">i", payload)
        if answered != self._last_id:
            raise RuntimeError(f"the broker answered request {answered}, and {self._last_id} is the oldest one")
        has_tags = is_flexible(api_name, version) and api_name != "api_versions"
        return decode_response(api_name, version, payload, _ID_BYTES + has_tags)

    def close(self) -> None:
        self._writer.transport.abort()
