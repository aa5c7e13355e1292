"""Topics to read: records like those of an application, with a short key and a JSON document of a given size."""

import json
import time
from random import Random
from typing import Any, Final

from bench.admin import make_topic, records_in
from bench.children import in_child
from bench.sockets import HOST, TIMEOUT_S

PARTITIONS: Final = 4
_DISTINCT: Final = 5_000
_WORDS: Final = ("created", "paid", "shipped", "returned", "Berlin", "Lisboa", "Oslo", "Praha", "express", "standard")


def make_filled_topic(port: int, name: str, count: int, value_size: int, codec: str) -> None:
    make_topic(port, name, PARTITIONS)
    in_child(produce, port, name, count, value_size, codec)
    found = records_in(port, name, PARTITIONS)
    if found != count:
        raise RuntimeError(f"{name} has {found} records, but {count} were acknowledged")


def documents(value_size: int) -> list[bytes]:
    """Half of each is random numbers, which do not compress."""
    choice = Random(value_size)
    return [_document(choice, number, value_size) for number in range(_DISTINCT)]


def _document(choice: Random, number: int, value_size: int) -> bytes:
    fields: dict[str, object] = {"id": number, "state": choice.choice(_WORDS)}
    while len(json.dumps(fields)) < value_size:
        fields[f"field{len(fields)}"] = f"{choice.choice(_WORDS)} {choice.getrandbits(40):010x}"
    return json.dumps(fields).encode()[:value_size]


def produce(port: int, topic: str, count: int, value_size: int, codec: str) -> None:
    """Keys differ from record to record, so that they compress as in an application."""
    from confluent_kafka import Producer

    producer: Any = Producer(
        {
            "bootstrap.servers": f"{HOST}:{port}",
            "compression.type": codec,
            "enable.idempotence": True,
            "linger.ms": 20,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 1_000_000,
            "log_level": 2,
        }
    )
    values = documents(value_size)
    deadline = time.monotonic() + TIMEOUT_S
    sent = 0
    while sent < count and time.monotonic() < deadline:
        size = min(len(values), count - sent)
        messages = [{"key": b"k%08d" % (sent + number), "value": values[number]} for number in range(size)]
        left = messages
        while left and time.monotonic() < deadline:
            partition = sent // len(values) % PARTITIONS
            taken = producer.produce_batch(topic, left, partition=partition)
            # Records that did not fit into the queue are marked with an error, anywhere in the list.
            left = [message for message in left if message.pop("_error", None) is not None] if taken < len(left) else []
            if left:
                producer.poll(0.01)
        sent += size
    if producer.flush(TIMEOUT_S):
        raise TimeoutError(f"{topic} did not take {count} records in {TIMEOUT_S:.0f} s")
