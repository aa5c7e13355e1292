"""Batches of a segment or snapshot file, read without a broker, and without relying on their content.

Kafka's dump tool goes on after a batch whose CRC is wrong, because the length still says where the next one begins, and
stops where a length cannot be true. So does this reader.
"""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from barnabas.cli.errors import CommandFailed
from barnabas.records.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC, Batch, crc_is_valid, read_header

# What one batch may become when it is decompressed: far more than any broker accepts.
DECOMPRESSED_BYTES_MAX = 1 << 30
_BUFFER_BYTES = 1 << 20


class PlacedBatch(NamedTuple):
    position: int
    batch: Batch
    is_valid: bool


class SegmentReader:
    def __init__(self, path: str, *, max_bytes: int | None = None) -> None:
        self.path = path
        try:
            self._file: BinaryIO = open(path, "rb", buffering=_BUFFER_BYTES)  # noqa: SIM115  # closed by `batches`
            size = self._file.seek(0, 2)
        except OSError as error:
            raise CommandFailed(f"cannot read {path}: {error.strerror}", hint="give the path of a file") from error
        self.size = size if max_bytes is None else min(size, max_bytes)
        self.valid_bytes = 0
        """Where the last whole batch ends, once all were read."""

    def batches(self) -> Iterator[PlacedBatch]:
        with self._file as file:
            file.seek(0)
            while self.size - self.valid_bytes >= HEADER_SIZE:
                head = file.read(HEADER_SIZE)
                header = read_header(head)
                if header.batch_length < HEADER_SIZE - LOG_OVERHEAD or header.magic != MAGIC:
                    return
                if self.valid_bytes + header.size > self.size:
                    return
                data = head + file.read(header.size - HEADER_SIZE)
                batch = Batch(header, memoryview(data))
                yield PlacedBatch(self.valid_bytes, batch, crc_is_valid(batch))
                self.valid_bytes += header.size

    @property
    def trailing_bytes(self) -> int:
        return self.size - self.valid_bytes
