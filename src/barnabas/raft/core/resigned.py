"""A replica that led its epoch before a restart; it does not lead that epoch again.

Records that it appended but did not sync may be lost. New records must not get the same offsets in the same epoch:
offset and epoch identify a record for good.
"""

from typing import NamedTuple


class Resigned(NamedTuple):
    epoch: int
