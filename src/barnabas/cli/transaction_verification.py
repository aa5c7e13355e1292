"""`barnabas log verify` for transaction indexes: each must list exactly the aborts in its segment.

With a wrong index, consumers get aborted records. The index must have an entry for every ABORT marker of a transaction
that still has records.
"""

from barnabas.cli.log_files import SegmentPath
from barnabas.env.disk import RealDisk
from barnabas.log.file_names import TXN_CHECKSUM, TXN_INDEX
from barnabas.log.index_file import CorruptIndex
from barnabas.log.transaction_index import TransactionIndex
from barnabas.records.batch import Batch
from barnabas.records.control import read_marker
from barnabas.wire.errors import InvalidRecord


class TransactionWalk:
    """Follows the transactions of one partition, segment by segment."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        """Producers with an open transaction that has records."""
        self._aborts: dict[int, int] = {}
        """The producer of each ABORT marker in this segment, by its offset."""
        self._needed: set[int] = set()
        """Offsets of those markers whose transaction has records."""

    def begin_segment(self) -> None:
        self._aborts.clear()
        self._needed.clear()

    def note(self, batch: Batch) -> None:
        header = batch.header
        if not header.is_transactional:
            return
        if not header.is_control:
            self._open.add(header.producer_id)
            return
        try:
            marker = read_marker(batch)
        except InvalidRecord:
            return  # its CRC is right: it is another kind of control batch
        if marker is None:
            return
        if not marker.commit:
            self._aborts[header.base_offset] = header.producer_id
            if header.producer_id in self._open:
                self._needed.add(header.base_offset)
        self._open.discard(header.producer_id)

    def problem(self, disk: RealDisk, segment: SegmentPath, *, is_last: bool) -> tuple[str, str] | None:
        """The index's path and what is wrong with it. `is_last`: it may not have been written yet."""
        path = f"{segment.path.removesuffix('.log')}{TXN_INDEX}"
        content = disk.read_file(path) if disk.exists(path) else b""
        checksum_path = f"{segment.path.removesuffix('.log')}{TXN_CHECKSUM}"
        checksum = disk.read_file(checksum_path) if content and disk.exists(checksum_path) else None
        try:
            entries = TransactionIndex.load(content, segment.base_offset, checksum=checksum).entries()
        except CorruptIndex as error:
            return path, f"{error}; a broker rebuilds it"
        for entry in entries:
            if self._aborts.get(entry.last_offset) != entry.producer_id:
                who, where = entry.producer_id, entry.last_offset
                return path, f"it lists an abort of producer {who} at offset {where}, which does not exist"
        missing = self._needed - {entry.last_offset for entry in entries}
        if missing and not is_last:
            return path, f"it lacks the abort at offset {min(missing)}: consumers get aborted records"
        return None
