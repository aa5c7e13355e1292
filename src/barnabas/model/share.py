"""Types of share groups: the key of a share-partition, and the delivery states of its records.

A share-partition is one topic partition as seen by one share group. Its records between the start offset and the end
offset are in flight: each has a delivery state and a delivery count. They are persisted as a list of ranges,
`StateBatch`. An acquired record is not persisted as such, so after a crash it is available again.
"""

import base64
import uuid
from bisect import bisect_left
from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

START_OFFSET_UNKNOWN: Final = -1
"""The group has not read the partition yet: its start offset is decided when the first member reads."""
DELIVERY_COMPLETE_UNKNOWN: Final = -1


class DeliveryState(IntEnum):
    """The values are Kafka's, and are stored."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4

    @property
    def is_final(self) -> bool:
        return self >= DeliveryState.ACKNOWLEDGED


_STORED_STATES: Final = (DeliveryState.AVAILABLE, DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED)


class SharePartitionKey(NamedTuple):
    group_id: str
    topic_id: uuid.UUID
    partition: int

    def as_text(self) -> str:
        """The form used by FindCoordinator, and hashed to find the partition of the state topic."""
        topic_id = base64.urlsafe_b64encode(self.topic_id.bytes).rstrip(b"=").decode()
        return f"{self.group_id}:{topic_id}:{self.partition}"


class StateBatch(NamedTuple):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

    @property
    def is_possible(self) -> bool:
        """Whether it may be stored: acquired records are not."""
        return (
            0 <= self.first_offset <= self.last_offset
            and self.delivery_state in _STORED_STATES
            and self.delivery_count >= 0
        )


class StateWrite(NamedTuple):
    """State that a share-partition's leader wants persisted."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    """`START_OFFSET_UNKNOWN`: unchanged."""
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


class StateRead(NamedTuple):
    """The persisted state that a share-partition's new leader starts from."""

    state_epoch: int
    start_offset: int
    batches: tuple[StateBatch, ...]


def overlay(batches: list[StateBatch], updates: Iterable[StateBatch]) -> None:
    """Merge updates into sorted, disjoint batches, in place.

    Where both cover an offset, the higher delivery count wins, and with equal counts the later state: within one
    delivery, states only go forward. Equal neighbours are joined. Only batches that an update touches are visited, so
    the cost does not depend on the length of the list.
    """
    for new in updates:
        begin = bisect_left(batches, (new.first_offset,))
        if begin and batches[begin - 1].last_offset >= new.first_offset - 1:
            begin -= 1
        end = begin
        while end < len(batches) and batches[end].first_offset <= new.last_offset + 1:
            end += 1
        batches[begin:end] = _merged(batches[begin:end], new)


def pruned(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    """The batches without anything before the start offset."""
    return [
        batch if batch.first_offset >= start_offset else batch._replace(first_offset=start_offset)
        for batch in batches
        if batch.last_offset >= start_offset
    ]


def _merged(old: list[StateBatch], new: StateBatch) -> list[StateBatch]:
    pieces: list[StateBatch] = []
    position = new.first_offset  # the update is in `pieces` up to here
    for batch in old:
        if batch.last_offset < new.first_offset:
            pieces.append(batch)
            continue
        if batch.first_offset > new.last_offset:
            break
        if batch.first_offset < new.first_offset:
            pieces.append(batch._replace(last_offset=new.first_offset - 1))
        elif batch.first_offset > position:
            pieces.append(new._replace(first_offset=position, last_offset=batch.first_offset - 1))
        first, last = max(batch.first_offset, new.first_offset), min(batch.last_offset, new.last_offset)
        pieces.append((batch if _rank(batch) > _rank(new) else new)._replace(first_offset=first, last_offset=last))
        position = last + 1
        if batch.last_offset > new.last_offset:
            pieces.append(batch._replace(first_offset=new.last_offset + 1))
    if position <= new.last_offset:
        pieces.append(new._replace(first_offset=position))
    pieces += [batch for batch in old if batch.first_offset > new.last_offset]
    return _joined(pieces)


def _rank(batch: StateBatch) -> tuple[int, int]:
    return batch.delivery_count, batch.delivery_state


def _joined(pieces: list[StateBatch]) -> list[StateBatch]:
    joined = pieces[:1]
    for piece in pieces[1:]:
        before = joined[-1]
        if before.last_offset + 1 == piece.first_offset and _rank(before) == _rank(piece):
            joined[-1] = before._replace(last_offset=piece.last_offset)
        else:
            joined.append(piece)
    return joined
