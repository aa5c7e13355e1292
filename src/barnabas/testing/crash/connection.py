"""A client on the event loop, which may be the loop of the tested broker."""

import asyncio
import struct
from typing import Any, Self

from barnabas.testing.client import request_header
from barnabas.wire.codec import decode_response, encode_request, is_flexible

CLIENT_ID = "crash"


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._next_id = 0

    @classmethod
    async def open(cls, port: int) -> Self:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def call(self, api_name: str, version: int, request: object) -> Any:
        """One round trip. ConnectionError: the broker died, and may have handled the request or not."""
        self._next_id += 1
        frame = request_header(api_name, version, self._next_id, CLIENT_ID) + encode_request(api_name, version, request)
        self._writer.write(struct.pack(">i", len(frame)) + frame)
        try:
            await self._writer.drain()
            (size,) = struct.unpack(">i", await self._reader.readexactly(4))
            payload = await self._reader.readexactly(size)
        except asyncio.IncompleteReadError as error:
            raise ConnectionError("the broker closed the connection") from error
        return decode_response(api_name, version, payload, 5 if is_flexible(api_name, version) else 4)

    def close(self) -> None:
        self._writer.transport.abort()
