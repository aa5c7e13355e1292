"""A part of a file that the kernel copies to a socket by itself, without a copy in this process.

It keeps the file open, so it stays readable when the file is deleted meanwhile.
"""

import os

from barnabas.env.open_files import Descriptor


class FileRange:
    __slots__ = ("_descriptor", "_position", "_size")

    def __init__(self, descriptor: Descriptor, position: int, size: int) -> None:
        self._descriptor = descriptor
        self._position = position
        self._size = size

    def __len__(self) -> int:
        return self._size

    def send_to(self, socket_number: int) -> int:
        """How many bytes the socket took: all, or as many as it has room for. Raises BlockingIOError if it has none."""
        return os.sendfile(socket_number, self._descriptor.number, self._position, self._size)

    def read(self, start: int = 0) -> bytes:
        """From `start` on. Raises EOFError if the file was cut off meanwhile."""
        size = self._size - start
        data = os.pread(self._descriptor.number, size, self._position + start)
        if len(data) < size:
            raise EOFError(f"the file ends {size - len(data)} bytes too early")
        return data
