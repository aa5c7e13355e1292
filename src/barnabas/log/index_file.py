"""What the two sparse indexes share: entries live in memory and are appended to their file when a segment is sealed.

Kafka maps its index files and preallocates them; ours simply grow. They are written when a segment is rolled and when
the log is closed, not on each append: after a crash, every segment that may miss entries is scanned and its indexes
rebuilt anyway, so that writing them earlier would buy nothing.
"""

from array import array

from barnabas.env import Disk


class CorruptIndex(Exception):
    """The file cannot be this segment's index; rebuild it from the segment."""


def check_increasing(values: "array[int]") -> None:
    """Entries must increase. Neighbours that are equal pass: an index full of zeros, as a crash leaves it, does not."""
    numbers = values.tolist()
    if numbers and (numbers[0] < 0 or (len(numbers) > 1 and numbers[0] == numbers[-1]) or numbers != sorted(numbers)):
        raise CorruptIndex("entries are not in increasing order")


def write_entries(disk: Disk, path: str, *, position: int, entries: bytes) -> None:
    """Make the file end with `entries` at `position`: what was there before stays, what was after it goes."""
    file = disk.open(path, create=True)
    try:
        if entries:
            file.write_at(position, [entries])
        if file.size() != position + len(entries):
            file.truncate(position + len(entries))
    finally:
        file.close()
