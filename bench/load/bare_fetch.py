"""Fetch requests over a bare socket: bytes are received and dropped, and only the sizes are checked.

All batches of a topic have the same size and count here, so the next offset follows from the number of bytes. The next
request is sent as soon as an answer's first bytes have arrived, so there is always one in flight.
"""

import struct
import time

from bench.frames import FetchFrame, fetch_error_position, fetch_records_size_position
from bench.sockets import check_error_code, connect, receive_exactly

MAX_BYTES = 1 << 20  # what consumers ask of a partition by default
_HEAD_SIZE_MAX = 256


def drain(port: int, topic: str, *, batch_size: int, batch_count: int, records_per_batch: int) -> float:
    """Seconds to fetch all batches of partition 0."""
    request = FetchFrame(topic, 0, max_bytes=MAX_BYTES, max_wait_ms=500)
    error_position = fetch_error_position(topic)
    size_position = fetch_records_size_position(topic)
    head_size = size_position + 5
    assert head_size < _HEAD_SIZE_MAX
    buffer = memoryview(bytearray(MAX_BYTES + 2 * batch_size + _HEAD_SIZE_MAX))
    end = batch_count * records_per_batch
    offset = 0
    with connect(port) as connection:
        started = time.perf_counter()
        connection.sendall(request.at(0))
        while offset < end:
            receive_exactly(connection, buffer[:head_size])
            (size,) = struct.unpack_from(">i", buffer)
            check_error_code(bytes(buffer[:head_size]), error_position)
            batches = max(0, _unsigned_varint(buffer, size_position) - 1) // batch_size
            if not batches:
                raise ValueError(f"the server gave no whole batch at offset {offset} of {end}")
            offset += batches * records_per_batch
            if offset < end:
                connection.sendall(request.at(offset))
            receive_exactly(connection, buffer[head_size : 4 + size])
        return time.perf_counter() - started


def consume_slowly(port: int, topic: str, bytes_per_s: float, seconds: float) -> int:
    """A slow consumer: it requests much, reads little, disconnects and reconnects. Returns how many bytes it read."""
    requests = bytes(FetchFrame(topic, 0, max_bytes=50 << 20).at(0)) * 5
    step = int(bytes_per_s / 100)
    got = 0
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        with connect(port) as connection:
            connection.sendall(requests)
            for _ in range(50):
                got += len(connection.recv(step))
                time.sleep(0.01)
    return got


def _unsigned_varint(buffer: memoryview, position: int) -> int:
    value = shift = 0
    while True:
        byte = buffer[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7
        position += 1
