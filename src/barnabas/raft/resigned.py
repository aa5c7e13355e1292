"""Led this epoch before it was stopped, and will not again.

Records that it appended and lost unsynced must not be followed by others under the same epoch: offset and epoch
together name one record for ever.
"""

from typing import NamedTuple


class Resigned(NamedTuple):
    epoch: int
