"""One client connection: bytes in, whole frames to dispatch, responses out in the order of their requests.

The receive buffer is filled in place, and frames are handled without copying them. A response that is ready at once is
written at once. Otherwise the request gets a slot, and later responses queue behind it.

Requests of one connection take effect in the order in which they were sent. As in Kafka, the next one begins when the
last one is answered, unless that one's handler says that it is only waiting (`handlers.pending`): a fetch for more
records, a produce for its commit. `FlowControl` decides when the next one may begin.

Everything is bounded: a frame by `socket.request.max.bytes`; unanswered requests by `queued.max.requests`; large
requests that have not arrived completely by `queued.max.request.bytes`, over all connections; bytes for a slow reader
by the transport's high-water mark. At a limit no more frames are read, and when the buffer is full, TCP flow control
stops the sender.
"""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from barnabas.env import FileRange
from barnabas.handlers.context import ClientConnection, ClientSoftware
from barnabas.handlers.pending import MayFollow, WaitingAnswer
from barnabas.server.dispatch import Dispatcher, Refused
from barnabas.server.flow_control import API_KEY_BYTES, CLOSED, HELD, NO_MEMORY, NOT_READ, UNWRITABLE, FlowControl
from barnabas.server.foreign_protocols import explain_size, recognise
from barnabas.server.request_memory import RequestMemory
from barnabas.server.sending import Buffers, send
from barnabas.server.throttling import ThrottledBuffers
from barnabas.wire.frame import SIZE_BYTES, read_size

if TYPE_CHECKING:
    from barnabas.server.listener import Listener

logger = logging.getLogger(__name__)

# Most connections of a large cluster are idle; one that fills its buffer gets a larger one.
BUFFER_BYTES_INITIAL: Final = 16 * 1024
BUFFER_BYTES_BUSY: Final = 128 * 1024
# A short answer is copied into one buffer in less time than a vectored write takes to set up.
JOINED_BYTES_MAX: Final = 4 * 1024
# The smallest request header: key, version, correlation id, null client id.
FRAME_BYTES_MIN: Final = 10


class ConnectionSettings(NamedTuple):
    frame_bytes_max: int
    in_flight_max: int
    """Kafka handles one request per connection at a time; clients keep 5 (Java) to 1,000,000 (librdkafka) in flight."""
    receive_buffer_bytes: int
    send_buffer_bytes: int
    """-1: the system default."""
    memory: RequestMemory | None = None
    """For large requests of all connections; None: no limit."""


class Slot:
    """The place of one response in the order of requests."""

    __slots__ = ("buffers", "may_follow", "size")

    def __init__(self, may_follow: MayFollow) -> None:
        self.buffers: Buffers | None = None
        self.size = 0
        self.may_follow = may_follow
        """Which requests may begin before the response is ready."""


class Connection(asyncio.BufferedProtocol):
    def __init__(self, listener: "Listener", dispatcher: Dispatcher, settings: ConnectionSettings) -> None:
        self._listener = listener
        self._dispatcher = dispatcher
        self._fast_path = dispatcher.fast_path
        self._settings = settings
        self._take_buffer(BUFFER_BYTES_INITIAL)
        self._start = 0
        self._end = 0
        self._slots: deque[Slot] = deque()
        self.tasks: set[asyncio.Task[None]] = set()
        self._flow = FlowControl(settings.in_flight_max)
        self._reading = True
        self._reserved_bytes = 0
        self._eof = False
        self.last_active = 0.0
        self.was_active = False
        """Since the listener's last sweep, which updates `last_active`."""

    def _take_buffer(self, size: int) -> None:
        self._buffer = bytearray(size)
        self._window = memoryview(self._buffer)

    # --- start and end

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        local = transport.get_extra_info("sockname")
        self.client = ClientConnection(
            host=str(peer[0]) if peer else "unknown",
            port=int(peer[1]) if peer else 0,
            listener_name=self._listener.name,
            local_host=str(local[0]) if local else "localhost",
            software=ClientSoftware(),
            on_close={},
        )
        self._size_socket_buffers()
        self.last_active = self._listener.now()
        self._listener.admit(self)

    def _size_socket_buffers(self) -> None:
        connected = self.transport.get_extra_info("socket")
        if self._settings.receive_buffer_bytes > 0:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._settings.receive_buffer_bytes)
        if self._settings.send_buffer_bytes > 0:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._settings.send_buffer_bytes)

    def connection_lost(self, error: Exception | None) -> None:
        # Handlers that still wait run to their end: what they decided is decided. Only the answer cannot be sent.
        self._flow.stop(CLOSED)
        self._slots.clear()
        self._listener.forget(self)
        self._free_memory()
        for notify in tuple(self.client.on_close or ()):
            notify()

    def hold(self) -> None:
        """Read nothing from this connection until `release`."""
        self._flow.stop(HELD)
        self._stop_reading()

    def release(self) -> None:
        self._flow.clear(HELD)
        self._go_on()

    def close(self, reason: str) -> None:
        if not self._flow.stops & CLOSED:
            logger.info("closing %s: %s", self.client, reason)
            self._flow.stop(CLOSED)
            self.transport.close()

    def _close_on_bad_size(self, size: int) -> None:
        reason = explain_size(size, self._settings.frame_bytes_max)
        kind = (self.client.host, recognise(size))
        self._dispatcher.client_warnings.warn(
            kind, "%s connects to listener %s: %s", self.client.host, self._listener.name, reason
        )
        self.close(reason)

    @property
    def idle(self) -> bool:
        return not self._slots

    # --- bytes in

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._window[self._end :] if self._end else self._window

    def buffer_updated(self, nbytes: int) -> None:
        self._end += nbytes
        self._process()

    def eof_received(self) -> bool:
        # A client that has only shut down its sending half still gets its answers.
        self._eof = True
        return bool(self._slots)

    def _process(self) -> None:
        self.was_active = True
        must_wait = True
        flow = self._flow
        while not flow.stops:
            start = self._start
            available = self._end - start
            if available < SIZE_BYTES:
                must_wait = False
                break
            size = read_size(self._buffer, start)
            if not FRAME_BYTES_MIN <= size <= self._settings.frame_bytes_max:
                self._close_on_bad_size(size)
                return
            if available < SIZE_BYTES + size:
                if self._reserve(SIZE_BYTES + size):
                    must_wait = False
                    self._make_room(SIZE_BYTES + size)
                break
            start += SIZE_BYTES
            if flow.only_api and self._buffer[start : start + API_KEY_BYTES] != flow.only_api:
                break
            end = self._start = start + size
            if self._reserved_bytes:
                self._handle(self._window[start:end])
                self._free_memory()
                continue
            if not self._slots:
                answer = self._fast_path.answer(self._buffer, self._window, start, end)
                if answer is not None:
                    if isinstance(answer, bytes):
                        self.transport.write(answer)
                    else:
                        self._write(ThrottledBuffers([answer.frame], answer.throttle_ms))
                    continue
            self._handle(self._window[start:end])
        if self._start == self._end:
            if self._end == len(self._buffer) < BUFFER_BYTES_BUSY:
                self._take_buffer(BUFFER_BYTES_BUSY)
            self._start = self._end = 0
        elif self._end == len(self._buffer):
            if must_wait:
                self._move_to_front()
            else:
                self._make_room(self._end - self._start + 1)
        if must_wait and (flow.stops & NOT_READ or self._end == len(self._buffer)):
            self._stop_reading()
        elif not self._reading:
            self._reading = True
            self.transport.resume_reading()
        if self._eof and not (self._slots or flow.stops):
            self.close("the client has closed its side")

    def _make_room(self, needed: int) -> None:
        """Make room for the rest of a frame. Doubling bounds memory by what was sent, not by the announced size."""
        unread = self._end - self._start
        if len(self._buffer) - self._start >= needed:
            return
        capacity = len(self._buffer)
        if unread * 2 > capacity:
            capacity = min(capacity * 2, max(needed, BUFFER_BYTES_BUSY))
        rest = self._window[self._start : self._end]
        if capacity > len(self._buffer):
            self._take_buffer(capacity)
        self._replace_unread(rest)

    def _move_to_front(self) -> None:
        if self._start:
            self._replace_unread(self._window[self._start : self._end])

    def _replace_unread(self, unread: memoryview) -> None:
        self._window[: len(unread)] = unread  # the two may overlap
        self._start, self._end = 0, len(unread)

    def shrink(self) -> None:
        """Free the buffer that one large frame needed."""
        if self._start == self._end and len(self._buffer) > BUFFER_BYTES_INITIAL:
            self._take_buffer(BUFFER_BYTES_INITIAL)
            self._start = self._end = 0

    # --- flow control

    def _stop_reading(self) -> None:
        if self._reading and not self._flow.stops & CLOSED:
            self._reading = False
            self.transport.pause_reading()

    def _go_on(self) -> None:
        """After a reason to stop was cleared; there may be others."""
        if not self._flow.stops & CLOSED:
            self._process()

    def pause_writing(self) -> None:
        self._flow.stop(UNWRITABLE)

    def resume_writing(self) -> None:
        self._flow.clear(UNWRITABLE)
        self._go_on()

    def _reserve(self, needed: int) -> bool:
        memory = self._settings.memory
        if memory is None or self._reserved_bytes or needed <= BUFFER_BYTES_BUSY:
            return True
        if memory.reserve(self, needed):
            self._reserved_bytes = needed
            return True
        self._flow.stop(NO_MEMORY)
        return False

    def retry_reserve(self) -> None:
        self._flow.clear(NO_MEMORY)
        self._go_on()

    def _free_memory(self) -> None:
        memory = self._settings.memory
        if memory is None:
            return
        if self._flow.stops & NO_MEMORY:
            memory.forget(self)
        if self._reserved_bytes:
            size, self._reserved_bytes = self._reserved_bytes, 0
            self.shrink()
            memory.free(size)

    # --- requests and responses

    def _handle(self, payload: memoryview) -> None:
        try:
            answer = self._dispatcher.dispatch(self.client, payload)
        except Refused as refusal:
            self.close(str(refusal))
            return
        if isinstance(answer, list):
            if not self._slots:
                self._write(answer)
            else:
                self._fill(self._begin(MayFollow.ALL, payload), answer)
            return
        may_follow = answer.may_follow if isinstance(answer, WaitingAnswer) else MayFollow.NONE
        slot = self._begin(may_follow, payload)
        task = asyncio.ensure_future(self._await_answer(slot, answer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _begin(self, may_follow: MayFollow, payload: memoryview) -> Slot:
        self._flow.begin(may_follow, payload)
        self._slots.append(slot := Slot(may_follow))
        return slot

    async def _await_answer(self, slot: Slot, answer: Awaitable[Buffers]) -> None:
        try:
            self._fill(slot, await answer)
        except Refused as refusal:
            self.close(str(refusal))
            return
        except Exception:
            logger.exception("a request from %s failed: this is a defect of Barnabas", self.client)
            self.close("internal error")
            return
        if self._flow.stops & CLOSED:
            return
        slots = self._slots
        while slots and (ready := slots[0].buffers) is not None:
            self._flow.sent(slots.popleft().size)
            self._write(ready)
        self._process()

    def _fill(self, slot: Slot, buffers: Buffers) -> None:
        slot.buffers = buffers
        slot.size = sum(map(len, buffers))
        self._flow.answered(slot.may_follow, slot.size)

    def _write(self, buffers: Buffers) -> None:
        if len(buffers) > 1:
            self._write_many(buffers)
        elif buffers:
            self.transport.write(cast(bytes, buffers[0]))
        if isinstance(buffers, ThrottledBuffers):
            self._throttle(buffers.throttle_ms / 1000)

    def _write_many(self, buffers: Buffers) -> None:
        if FileRange in map(type, buffers):
            try:
                send(self.transport, buffers)
            except (EOFError, OSError) as error:
                logger.warning("a part of a log cannot be sent to %s: %s", self.client, error)
                self.close("an answer could not be sent completely")
            return
        whole = cast(list[bytes], buffers)
        if sum(map(len, whole)) <= JOINED_BYTES_MAX:
            self.transport.write(b"".join(whole))
        else:
            self.transport.writelines(whole)

    def _throttle(self, seconds: float) -> None:
        """The client exceeded a quota (KIP-219): read no requests of it for this time."""
        until = self._listener.now() + seconds
        if self._flow.throttle(until):
            asyncio.get_running_loop().call_later(seconds, self._end_throttle, until)
        self._stop_reading()

    def _end_throttle(self, until: float) -> None:
        self._flow.end_throttle(until)
        self._go_on()
