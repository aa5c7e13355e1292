"""One Parquet file: rows of one partition, in the order of their offsets."""

import hashlib
import io
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from barnabas.archive.store import TopicStore
from barnabas.history.declared import CONNECTOR_COLUMNS, Column, arrow_fields
from barnabas.history.decode import decode
from barnabas.history.manifest import Piece
from barnabas.portable.replacement import TEMPORARY
from barnabas.spark.arrow.schema import arrow_schema

ROW_GROUP_BYTES: Final = 32 << 20
"""In memory. Large enough to read a column of it at once, small enough for a hundred partitions at a time."""
ROW_GROUP_ROWS: Final = 1 << 20
_REPEATING: Final = ("topic", "partition", "timestampType")
_DELTAS: Final = ("offset", "timestamp")


def file_schema(columns: tuple[Column, ...] | None) -> Any:
    """The connector's columns, then the typed ones."""
    own = arrow_schema(CONNECTOR_COLUMNS)
    return own if columns is None else pa.schema([*own, *arrow_fields(columns)])


class FileWriter:
    """Not thread-safe. Ends with `finish` or `abandon`."""

    def __init__(
        self, store: TopicStore, partition: int, start: int, columns: tuple[Column, ...] | None, schema_number: int
    ) -> None:
        self.start = start
        self.rows = 0
        self.next_offset = start
        """The offset after the last row."""
        self._store = store
        self._partition = partition
        self._columns = columns
        self._schema_number = schema_number
        self._schema = file_schema(columns)
        self._timestamp_us: tuple[int, int] | None = None
        self._waiting: list[Any] = []
        self.waiting_bytes = 0
        """Rows that are not in a row group yet."""
        self._waiting_rows = 0
        self._path = store.folder / f".{partition}-{start:020d}.parquet{TEMPORARY}"
        self._sink = _HashingSink(self._path)
        typed = [column.name for column in columns or ()]
        self._writer = pq.ParquetWriter(
            self._sink,
            self._schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=[*_REPEATING, *typed],
            column_encoding=dict.fromkeys(_DELTAS, "DELTA_BINARY_PACKED"),
            write_statistics=[*_DELTAS, *typed],
            store_schema=True,
        )

    @property
    def bytes(self) -> int:
        """On disk, plus the rows in memory."""
        return self._sink.size_bytes + self.waiting_bytes

    def add(self, batch: Any) -> None:
        offsets = batch.column("offset")
        self.next_offset = offsets[-1].as_py() + 1
        self.rows += batch.num_rows
        self._note_times(batch.column("timestamp"))
        if self._columns is not None:
            typed = decode(batch.column("value"), self._columns)
            batch = pa.RecordBatch.from_arrays([*batch.columns, *typed.columns], schema=self._schema)
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self.waiting_bytes += batch.nbytes
        if self.waiting_bytes >= ROW_GROUP_BYTES or self._waiting_rows >= ROW_GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the rows in memory as a row group."""
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting), row_group_size=self._waiting_rows)
            self._waiting, self._waiting_rows, self.waiting_bytes = [], 0, 0

    def finish(self, end: int) -> Piece:
        """Sync the file and rename it. It is part of the history once the manifest names it."""
        self.flush()
        self._writer.close()
        self._sink.close()
        name = f"{self._partition}-{self.start:020d}-{end:020d}.parquet"
        self._store.finish("file", self._path, name)
        first_us, last_us = self._timestamp_us or (None, None)
        return Piece(
            self.start,
            end,
            name,
            self.rows,
            self._sink.size_bytes,
            None if first_us is None else first_us // 1000,
            None if last_us is None else last_us // 1000,
            self._schema_number,
            self._sink.sha256(),
        )

    def abandon(self) -> None:
        with suppress(OSError):  # on a full disk not even the footer can be written; the file is removed anyway
            self._writer.close()
        self._sink.close()
        self._path.unlink(missing_ok=True)

    def _note_times(self, timestamps: Any) -> None:
        found = pc.min_max(timestamps.cast(pa.int64())).as_py()
        if found["min"] is not None:
            first, last = self._timestamp_us or (found["min"], found["max"])
            self._timestamp_us = (min(first, found["min"]), max(last, found["max"]))


class _HashingSink(io.RawIOBase):
    """A file that computes the digest while it is written, instead of reading it again."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)
        self._digest = hashlib.sha256()
        self.size_bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._digest.update(view)
        written = 0
        while written < len(view):
            written += self._file.write(view[written:]) or 0
        self.size_bytes += len(view)
        return len(view)

    def tell(self) -> int:
        return self.size_bytes

    def close(self) -> None:
        self._file.close()
        super().close()

    def sha256(self) -> str:
        return self._digest.hexdigest()
