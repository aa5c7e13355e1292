"""A small application for the tests in this folder.

A shop reads orders from a topic and packs each into a parcel: it writes a line to a book, which is a file, or an
invoice to another topic. It runs in its own process, and can be told to crash in the middle of an order. After a
restart it continues from its group's committed offset.

    python shop.py BOOTSTRAP TOPIC BOOK HABIT [ORDER]

HABIT says when it commits: `before`, `after` or `with` (in one transaction with its invoice; BOOK is a topic then).
ORDER is the one during which it dies.
"""

import os
import signal
import sys

from confluent_kafka import Consumer, KafkaError, Producer

QUIET = {"log_level": 0}


def die_at(moment: str, order: str) -> None:
    """SIGKILL: no cleanup."""
    if moment == order:
        os.kill(os.getpid(), signal.SIGKILL)


def main(bootstrap: str, topic: str, book: str, habit: str, fatal_order: str = "") -> None:
    consumer = Consumer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": f"shop-{topic}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 500,
            # A static member: the next one replaces it in the group at once, without waiting for the session timeout.
            "group.instance.id": "counter",
        }
    )
    consumer.subscribe([topic])
    producer = None
    if habit == "with":
        producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "transactional.id": f"shop-{topic}"})
        producer.init_transactions(30)
    while True:
        message = consumer.poll(30)
        if message is None:
            raise SystemExit("no order came, and no end either")
        if message.error() is not None:
            if message.error().code() == KafkaError._PARTITION_EOF:
                break
            raise SystemExit(str(message.error()))
        order = message.value().decode()
        if habit == "before":
            consumer.commit(message, asynchronous=False)
            die_at(order, fatal_order)
            write_down(book, order)
        elif habit == "after":
            write_down(book, order)
            die_at(order, fatal_order)
            consumer.commit(message, asynchronous=False)
        elif producer is not None:
            producer.begin_transaction()
            producer.produce(book, f"invoice for {order}")
            producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 30
            )
            producer.flush(30)
            die_at(order, fatal_order)
            producer.commit_transaction(30)
    consumer.close()


def write_down(book: str, order: str) -> None:
    with open(book, "a") as file:
        file.write(f"packed {order}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
