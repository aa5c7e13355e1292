"""When to retry: until when and with which pauses, after which errors, and which requests."""

import random
import time
from collections.abc import Iterator
from typing import Final

from barnabas.client.settings import ClientSettings
from barnabas.wire.errors import ErrorCode
from barnabas.wire.schema import Message


class RetryPolicy:
    """A deadline, and pauses that double. Each pause is random by a fifth, so that many tasks do not retry in step."""

    def __init__(self, settings: ClientSettings, total_s: float) -> None:
        self._deadline = time.monotonic() + total_s
        self._pause_s = settings.retry_pause_s
        self._pause_s_max = max(settings.retry_pause_s_max, settings.retry_pause_s)

    @property
    def remaining_s(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def wait(self) -> bool:
        """Sleep and return True, or return False at once if there is no time for another attempt."""
        pause_s = self._pause_s * random.uniform(0.8, 1.2)
        if pause_s >= self.remaining_s:
            return False
        time.sleep(pause_s)
        self._pause_s = min(self._pause_s * 2, self._pause_s_max)
        return True


REPEATABLE: Final = frozenset(
    {
        "add_offsets_to_txn",
        "add_partitions_to_txn",
        "api_versions",
        "consumer_group_describe",
        "describe_acls",
        "describe_client_quotas",
        "describe_cluster",
        "describe_configs",
        "describe_groups",
        "describe_log_dirs",
        "describe_producers",
        "describe_quorum",
        "describe_topic_partitions",
        "describe_transactions",
        "end_txn",
        "fetch",
        "find_coordinator",
        "init_producer_id",
        "list_groups",
        "list_offsets",
        "list_transactions",
        "metadata",
        "offset_commit",
        "offset_fetch",
        "offset_for_leader_epoch",
        "txn_offset_commit",
    }
)
"""APIs that may be retried when the connection broke before the response: they only read, or are idempotent."""

COORDINATOR_BUSY: Final = frozenset(
    {ErrorCode.coordinator_load_in_progress, ErrorCode.coordinator_not_available, ErrorCode.not_coordinator}
)

LEADER_MOVING: Final = frozenset(
    {
        ErrorCode.fenced_leader_epoch,
        ErrorCode.kafka_storage_error,
        ErrorCode.leader_not_available,
        ErrorCode.not_leader_or_follower,
        ErrorCode.offset_not_available,
        ErrorCode.replica_not_available,
        ErrorCode.unknown_leader_epoch,
    }
)


def error_codes(message: object) -> Iterator[ErrorCode]:
    """Every error code in a response, at any depth."""
    if isinstance(message, ErrorCode):
        yield message
    elif isinstance(message, tuple):
        for each in message:
            yield from error_codes(each)
    elif isinstance(message, Message):
        for name in message.layout.fields:
            yield from error_codes(getattr(message, name))
