"""confluent-kafka's share consumer, as tests use it; run as a program it is a member that can be killed.

    python share_reader.py SERVERS GROUP TOPIC

takes records, prints their values, one line each, and never acknowledges any.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any

from confluent_kafka import AcknowledgeType, ShareConsumer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

DEADLINE_S = 30.0
ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


@contextmanager
def share_consumer(servers: str, group: str, topic: str, **config: Any) -> Iterator[Any]:
    consumer = ShareConsumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            "log_level": 0,
            **{name.replace("_", "."): value for name, value in config.items()},
        }
    )
    consumer.subscribe([topic])
    try:
        yield consumer
    finally:
        # Its close, new in librdkafka, sometimes never returns. The broker gives its records to others all the same.
        closing = Thread(target=consumer.close, daemon=True)
        closing.start()
        closing.join(DEADLINE_S)


def configure_group(servers: str, group: str, **configs: str) -> None:
    entries = [
        ConfigEntry(f"share.{name.replace('_', '.')}", value, incremental_operation=AlterConfigOpType.SET)
        for name, value in {"auto_offset_reset": "earliest", **configs}.items()
    ]
    admin = AdminClient({"bootstrap.servers": servers})
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(DEADLINE_S)


def take(
    consumer: Any,
    count: int,
    answer: Callable[[Any], Any] = lambda _: ACCEPT,
    *,
    timeout_s: float = DEADLINE_S,
) -> list[bytes]:
    """The values of so many records, each acknowledged as `answer` returns, and committed."""
    values: list[bytes] = []
    deadline = time.monotonic() + timeout_s
    while len(values) < count and time.monotonic() < deadline:
        for message in consumer.poll(0.2):
            assert message.error() is None, message.error()
            values.append(message.value())
            consumer.acknowledge(message, answer(message))
        commit(consumer)
    return values


def commit(consumer: Any) -> None:
    for partition, error in consumer.commit_sync(DEADLINE_S).items():
        assert error is None, f"{partition}: {error}"


def main(arguments: Sequence[str]) -> None:
    servers, group, topic = arguments
    with share_consumer(servers, group, topic) as consumer:
        while True:
            for message in consumer.poll(0.2):
                print(message.value().decode(), flush=True)
                time.sleep(3600)


if __name__ == "__main__":
    main(sys.argv[1:])
