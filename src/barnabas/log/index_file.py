"""Shared by the two sparse indexes: entries are in memory, and are appended to the file when a segment is sealed.

Kafka preallocates its index files and maps them into memory; ours simply grow. They are written when a segment is
rolled and when the log is closed, not on each append: after a crash, every segment that may lack entries is scanned
and its indexes are rebuilt anyway.
"""

from array import array

from barnabas.env import Disk


class CorruptIndex(Exception):
    """The file cannot be this segment's index; rebuild it from the segment."""


def check_increasing(values: "array[int]") -> None:
    """Entries must not decrease. An index full of equal entries, like the zeros that a crash may leave, is corrupt."""
    numbers = values.tolist()
    if numbers and (numbers[0] < 0 or (len(numbers) > 1 and numbers[0] == numbers[-1]) or numbers != sorted(numbers)):
        raise CorruptIndex("entries are not in increasing order")


def write_entries(disk: Disk, path: str, *, position: int, entries: bytes) -> None:
    """Write `entries` at `position` and truncate the file after them."""
    file = disk.open(path, create=True)
    try:
        if entries:
            file.write_at(position, [entries])
        if file.size() != position + len(entries):
            file.truncate(position + len(entries))
    finally:
        file.close()
