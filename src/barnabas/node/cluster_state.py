"""The committed metadata log made into images, and everybody told what changed.

Raft drives it: a snapshot at start, then every batch once it is committed. While the node starts nobody is told
anything; `publish` then hands over the whole image as one delta, so that a topic created and deleted long ago costs
nothing, and from then on each commit is told as it comes.
"""

import logging
from collections.abc import Callable, Iterable

from barnabas.metadata.delta import Delta, replay
from barnabas.metadata.image import EMPTY_IMAGE, ClusterImage
from barnabas.metadata.records import decode_metadata_record, encode_metadata_record
from barnabas.metadata.snapshot import image_to_records

logger = logging.getLogger(__name__)

Subscriber = Callable[[ClusterImage, Delta], None]


class ClusterState:
    def __init__(self) -> None:
        self.image = EMPTY_IMAGE
        self._subscribers: tuple[Subscriber, ...] = ()

    def publish(self, *subscribers: Subscriber) -> None:
        """Tell the subscribers what there is, in their order, and from now on what changes."""
        _, delta = replay(EMPTY_IMAGE, image_to_records(self.image))
        self._subscribers = subscribers
        self._tell(delta)

    def on_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:
        decoded = map(decode_metadata_record, records)
        self.image, _ = replay(EMPTY_IMAGE, decoded, offset=end_offset - 1, epoch=epoch)

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes]) -> None:
        decoded = map(decode_metadata_record, records)
        self.image, delta = replay(self.image, decoded, offset=base_offset + len(records) - 1, epoch=epoch)
        if delta:
            self._tell(delta)

    def snapshot(self) -> Iterable[bytes] | None:
        if self.image.open_transaction is not None:
            return None
        return map(encode_metadata_record, image_to_records(self.image))

    def _tell(self, delta: Delta) -> None:
        for subscriber in self._subscribers:
            subscriber(self.image, delta)
