"""librdkafka as users run it, through confluent-kafka, with its defaults except for queues that hold a benchmark.

Records are sent and received in lists, because one Python call per record would dominate the measurement.
"""

import time
from typing import Any

from bench.sockets import HOST, TIMEOUT_S

_LIST_SIZE = 10_000
_QUEUE_KB = 1_000_000


def produce(port: int, topic: str, count: int, value_size: int) -> float:
    """Seconds from the first record to the last acknowledgement (acks=all)."""
    from confluent_kafka import Producer

    producer: Any = Producer(
        {
            "bootstrap.servers": f"{HOST}:{port}",
            "acks": "all",
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": _QUEUE_KB,
            "log_level": 2,
        }
    )
    producer.list_topics(topic, TIMEOUT_S)  # connecting and fetching metadata are not measured
    messages = [{"value": b"v" * value_size}] * _LIST_SIZE
    left = count
    started = time.perf_counter()
    deadline = started + TIMEOUT_S
    while left > 0 and time.perf_counter() < deadline:
        taken = producer.produce_batch(topic, messages if left >= _LIST_SIZE else messages[:left], partition=0)
        left -= taken
        if taken < _LIST_SIZE:
            producer.poll(0.005)
    if left or producer.flush(TIMEOUT_S):
        raise TimeoutError(f"{topic} did not take {count} records in {TIMEOUT_S:.0f} s")
    return time.perf_counter() - started


def consume(port: int, topic: str, count: int) -> float:
    """Seconds from the first fetch to the last of `count` records."""
    from confluent_kafka import Consumer, TopicPartition

    consumer: Any = Consumer(
        {
            "bootstrap.servers": f"{HOST}:{port}",
            "group.id": "bench",
            "enable.auto.commit": False,
            "queued.max.messages.kbytes": _QUEUE_KB,
            "log_level": 2,
        }
    )
    consumer.list_topics(topic, TIMEOUT_S)
    started = time.perf_counter()
    deadline = started + TIMEOUT_S
    consumer.assign([TopicPartition(topic, 0, 0)])
    got = 0
    while got < count and time.perf_counter() < deadline:
        got += sum(message.error() is None for message in consumer.consume(_LIST_SIZE, 0.1))
    elapsed_s = time.perf_counter() - started
    consumer.close()
    if got < count:
        raise TimeoutError(f"{topic} gave {got} of {count} records in {TIMEOUT_S:.0f} s")
    return elapsed_s
