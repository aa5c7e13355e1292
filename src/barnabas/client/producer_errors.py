"""Errors of a producer that no retry can help."""

from typing import Any

from barnabas.client.errors import ClientError, Refused
from barnabas.wire.errors import ErrorCode


class DeliveryTimedOut(ClientError):
    """A batch was not acknowledged within delivery.timeout.ms, in spite of retries."""

    def __init__(self, topic: str, partition: int, timeout_s: float, reason: str) -> None:
        why = f"; the last attempt failed: {reason}" if reason else ""
        super().__init__(
            f"records for {topic}-{partition} were not acknowledged within {timeout_s:g} s{why}",
            "check that the brokers run and that enough replicas are in sync; or raise delivery.timeout.ms",
        )
        self._arguments = (topic, partition, timeout_s, reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments


class ProducerFenced(Refused):
    """Another producer took over the transactional id, or the broker ended the transaction."""


def record_too_large(topic: str, size_bytes: int, message: str | None) -> Refused:
    said = f" ({message})" if message else ""
    return Refused(
        ErrorCode.message_too_large,
        f"topic {topic} refuses a record whose batch has {size_bytes} bytes{said}",
        f"raise max.message.bytes of the topic (barnabas config set --topic {topic} max.message.bytes=...), or write "
        "smaller values",
    )
