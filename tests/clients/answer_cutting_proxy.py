"""A proxy between clients and a broker that loses answers: the request arrives, the answer never does.

Then an idempotent producer sends the same batch again, and the broker must detect the duplicate.
"""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_PRODUCE = 0


class AnswerCuttingProxy:
    def __init__(self, *, every: int) -> None:
        self._every = every
        """One of so many produce requests gets no answer."""
        self._produces = 0
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._target = ("127.0.0.1", 0)
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    def start(self, target_port: int) -> None:
        self._target = ("127.0.0.1", target_port)
        self._threads[0].start()

    def close(self) -> None:
        # shutdown wakes the threads that wait in accept and recv; close alone does not
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            if thread.ident:
                thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,))
            self._threads.append(thread)
            self._sockets.append(client)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        """Requests and answers one by one: pipelining does not matter here."""
        with client, socket.create_connection(self._target) as broker, suppress(OSError):
            self._sockets.append(broker)
            while (request := _read_frame(client)) is not None:
                broker.sendall(request)
                answer = _read_frame(broker)
                if answer is None or self._is_cut(request):
                    return
                client.sendall(answer)

    def _is_cut(self, request: bytes) -> bool:
        if struct.unpack_from(">h", request, 4)[0] != _PRODUCE:
            return False
        self._produces += 1
        cut = self._produces % self._every == 0
        self.cuts += cut
        return cut


def _read_frame(source: socket.socket) -> bytes | None:
    size = _read_exactly(source, 4)
    if size is None:
        return None
    body = _read_exactly(source, struct.unpack(">i", size)[0])
    return None if body is None else size + body


def _read_exactly(source: socket.socket, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = source.recv(size - len(data))
        if not part:
            return None
        data += part
    return data


@contextmanager
def answer_cutting_proxy(*, every: int) -> Iterator[AnswerCuttingProxy]:
    proxy = AnswerCuttingProxy(every=every)
    try:
        yield proxy
    finally:
        proxy.close()
