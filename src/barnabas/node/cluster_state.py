"""Replays the committed metadata log into images, and notifies subscribers of changes.

Raft calls it: with a snapshot at start, then with every committed batch. While the node starts, subscribers are not
notified; `publish` then passes the whole image as one delta, so that topics created and deleted long ago cost nothing.
From then on subscribers are notified of each commit.

One request may create or delete a topic of ten thousand partitions. A worker replays such a commit, and the replicas
are notified in parts, with other work in between. Until the last part, clients may be told that a partition of the new
topic does not exist yet, as in a cluster. The request itself is answered after that.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Final

from barnabas.env import Workers
from barnabas.env.time_slices import TimeSlices
from barnabas.metadata.delta import Delta, replay
from barnabas.metadata.image import EMPTY_IMAGE, ClusterImage
from barnabas.metadata.records import decode_metadata_record, encode_metadata_record
from barnabas.metadata.snapshot import image_to_records

logger = logging.getLogger(__name__)

Subscriber = Callable[[ClusterImage, Delta], None]

RECORDS_AT_ONCE: Final = 200
PARTITIONS_AT_ONCE: Final = 50
"""Deleting a partition means a rename and closing its files."""


class ClusterState:
    def __init__(self, workers: Workers, time_slices: TimeSlices) -> None:
        self.image = EMPTY_IMAGE
        self._workers = workers
        self._time_slices = time_slices
        self._subscribers: tuple[Subscriber, ...] = ()
        self._in_parts: Subscriber | None = None

    def publish(self, *subscribers: Subscriber, in_parts: Subscriber | None = None) -> None:
        """Pass the whole image to the subscribers, in this order, and from now on every change.

        `in_parts`: the subscriber that has work to do for every partition gets large changes in parts.
        """
        _, delta = replay(EMPTY_IMAGE, image_to_records(self.image))
        self._subscribers = subscribers
        self._in_parts = in_parts
        self._notify(delta)

    def on_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:
        decoded = map(decode_metadata_record, records)
        self.image, _ = replay(EMPTY_IMAGE, decoded, offset=end_offset - 1, epoch=epoch)

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes]) -> Awaitable[None] | None:
        last_offset = base_offset + len(records) - 1
        if len(records) > RECORDS_AT_ONCE:
            return self._replay_large(records, last_offset, epoch)
        self.image, delta = _replay(self.image, records, last_offset, epoch)
        if delta.partition_count > PARTITIONS_AT_ONCE:
            return self._notify_in_parts(delta)
        if delta:
            self._notify(delta)
        return None

    async def _replay_large(self, records: list[bytes], last_offset: int, epoch: int) -> None:
        self.image, delta = await self._workers.run(partial(_replay, self.image, records, last_offset, epoch))
        await self._notify_in_parts(delta)

    async def _notify_in_parts(self, delta: Delta) -> None:
        image = self.image
        time_slice = await self._time_slices.wait()
        for subscriber in self._subscribers:
            for part in delta.parts(PARTITIONS_AT_ONCE) if subscriber == self._in_parts else (delta,):
                subscriber(image, part)
                if time_slice.is_over():
                    await self._time_slices.next(time_slice)

    def snapshot(self) -> Iterable[bytes] | None:
        if self.image.open_transaction is not None:
            return None
        return map(encode_metadata_record, image_to_records(self.image))

    def _notify(self, delta: Delta) -> None:
        for subscriber in self._subscribers:
            subscriber(self.image, delta)


def _replay(image: ClusterImage, records: Sequence[bytes], offset: int, epoch: int) -> tuple[ClusterImage, Delta]:
    return replay(image, map(decode_metadata_record, records), offset=offset, epoch=epoch)
