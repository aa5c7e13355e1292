"""Batches that a broker refuses to a consumer because they are damaged on its disk: which offsets, and how to go on.

A broker's answer says that the batch at an offset is damaged, and no more. Where the next one begins is found by asking
for later offsets, in growing steps and then back again.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.cli.errors import CommandFailed

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster

CORRUPT_MESSAGE: Final = 2
_PROBE_BYTES: Final = 1
"""A broker gives whole batches, so one at least."""


class DamagedBatch(NamedTuple):
    topic: str
    partition: int
    offset: int
    """The first that cannot be read."""
    next_offset: int | None = None
    """The first after it that can; None: it could not be found out."""

    def __str__(self) -> str:
        if self.next_offset is None:
            refused = f"offset {self.offset} cannot be read"
        elif self.next_offset == self.offset + 1:
            refused = f"offset {self.offset} cannot be read, the next readable offset is {self.next_offset}"
        else:
            last = self.next_offset - 1
            refused = f"offsets {self.offset} to {last} cannot be read, the next readable offset is {self.next_offset}"
        return f"a batch of {self.topic} partition {self.partition} is damaged on the broker's disk: {refused}"

    def how_to_go_on(self, group: str | None) -> str:
        target = "OFFSET" if self.next_offset is None else str(self.next_offset)
        if group is None:
            skip = f"barnabas consume {self.topic} --partition {self.partition} --offset {target}"
        else:
            skip = f"barnabas group reset-offsets {group} --topic {self.topic}:{self.partition} --to-offset {target}"
        return f"to skip it, run {skip}; to see what is damaged, run barnabas log verify DATA_DIR where the broker runs"


def failed(damaged: list[DamagedBatch], group: str | None) -> CommandFailed:
    """The command's error for batches that it had to leave out."""
    return CommandFailed("; ".join(map(str, damaged)), hint="; ".join(each.how_to_go_on(group) for each in damaged))


def with_next_offset(damaged: DamagedBatch, servers: str, properties: Mapping[str, str]) -> DamagedBatch:
    """Look for the next offset that can be read; if the cluster does not answer, the command goes on without."""
    from barnabas.client.cluster import Cluster
    from barnabas.client.errors import ClientError
    from barnabas.client.properties import client_settings

    try:
        cluster = Cluster(client_settings({**properties, "bootstrap.servers": servers}), retry_for_s=0)
        try:
            return damaged._replace(next_offset=_next_readable(cluster, damaged))
        finally:
            cluster.close()
    except ClientError:
        return damaged


def _next_readable(cluster: "Cluster", damaged: DamagedBatch) -> int:
    from barnabas.client.errors import Refused
    from barnabas.client.transaction_log import OffsetsGone, fetch_batches, log_bounds

    topic, partition = damaged.topic, damaged.partition
    _, end = log_bounds(cluster, topic, partition)

    def can_be_read(offset: int) -> bool:
        if offset >= end:
            return True
        try:
            fetch_batches(cluster, topic, partition, offset, max_bytes=_PROBE_BYTES)
        except OffsetsGone:
            return True
        except Refused as refused:
            if refused.code != CORRUPT_MESSAGE:
                raise
            return False
        return True

    refused, step = damaged.offset, 1
    while not can_be_read(refused + step):
        refused, step = refused + step, step * 2
    found = min(refused + step, end)
    while found - refused > 1:
        middle = (refused + found) // 2
        if can_be_read(middle):
            found = middle
        else:
            refused = middle
    return found
