"""The latest offset of each key in the dirty section of a log, within a memory limit.

Long keys are stored as a digest of 264 bits, which makes collisions practically impossible. Digests are longer than
every key that is stored directly, so a key cannot be mistaken for a digest.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from barnabas.records.record import Record

RAW_KEY_BYTES_MAX: Final = 32
DIGEST_BYTES: Final = RAW_KEY_BYTES_MAX + 1
ENTRY_OVERHEAD_BYTES: Final = 160
"""For a `bytes` key, an `int` and an entry in a dict that has just grown, as measured on CPython 3.11 to 3.14."""


class LatestOffsets:
    __slots__ = ("_bytes", "_bytes_max", "_has_batch", "_offsets")

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._offsets: dict[bytes, int] = {}
        self._has_batch = False

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, records: Iterable[Record], *, start_offset: int) -> bool:
        """Add the keys of one batch; False if there is not enough memory for all of them.

        The first batch is always added, or a log with a batch of very many keys could never be cleaned.
        """
        offsets = self._offsets
        for record in records:
            if record.key is None or record.offset < start_offset:
                continue
            token = _token(record.key)
            if token not in offsets:
                self._bytes += len(token) + ENTRY_OVERHEAD_BYTES
                if self._bytes > self._bytes_max and self._has_batch:
                    return False
            offsets[token] = record.offset
        self._has_batch = True
        return True

    def of(self, key: bytes) -> int:
        """-1: the key is not in the dirty section."""
        return self._offsets.get(_token(key), -1)


def _token(key: bytes) -> bytes:
    return key if len(key) <= RAW_KEY_BYTES_MAX else blake2b(key, digest_size=DIGEST_BYTES).digest()
