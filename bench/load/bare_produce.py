"""The same encoded Produce request again and again, a few of them in flight: hardly any work for the client."""

import struct
import time

from bench.frames import produce_error_position, produce_frame
from bench.sockets import check_error_code, connect, receive_frame

IN_FLIGHT = 5  # as many as the Java producer allows itself


def pump(port: int, topic: str, batch: bytes, count: int, partitions: int = 1) -> float:
    """Seconds until `count` batches are acknowledged, round robin over the partitions, on one connection."""
    frames = [produce_frame(topic, partition, batch) for partition in range(partitions)]
    error_position = produce_error_position(topic)
    with connect(port) as connection:
        started = time.perf_counter()
        for index in range(min(IN_FLIGHT, count)):
            connection.sendall(frames[index % partitions])
        sent = min(IN_FLIGHT, count)
        first = receive_frame(connection)
        check_error_code(first, error_position)
        answer_size = len(first)
        answered = 1
        buffered = bytearray()
        while answered < count:
            if sent < count:
                connection.sendall(frames[sent % partitions])
                sent += 1
            if sent - answered < IN_FLIGHT and sent < count:
                continue
            received = connection.recv(65536)
            if not received:
                raise ConnectionError("the server closed the connection")
            buffered += received
            while len(buffered) >= answer_size:
                (size,) = struct.unpack_from(">i", buffered)
                check_error_code(buffered, error_position)
                if size + 4 != answer_size:
                    raise ValueError(f"an answer of {size + 4} bytes came where {answer_size} were expected")
                del buffered[:answer_size]
                answered += 1
        return time.perf_counter() - started


def pump_at(port: int, topic: str, batch: bytes, bytes_per_s: float, seconds: float) -> int:
    """Send at a steady rate on one connection, and return how many batches were acknowledged.

    The clock sets the rate, not the answers: a server that falls behind gets the overdue batches at once.
    """
    frame = produce_frame(topic, 0, batch)
    error_position = produce_error_position(topic)
    with connect(port) as connection:
        started = time.perf_counter()
        sent = answered = 0
        while (elapsed := time.perf_counter() - started) < seconds:
            due = int(elapsed * bytes_per_s / len(batch))
            if sent < due and sent - answered < IN_FLIGHT:
                connection.sendall(frame)
                sent += 1
            elif answered < sent:
                check_error_code(receive_frame(connection), error_position)
                answered += 1
            else:
                time.sleep(max(0.0, (sent + 1) * len(batch) / bytes_per_s - elapsed))
        while answered < sent:
            check_error_code(receive_frame(connection), error_position)
            answered += 1
    return answered
