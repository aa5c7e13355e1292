"""A replica that knows the epoch, but no leader: the first role of one that never led."""

from typing import NamedTuple


class Unattached(NamedTuple):
    epoch: int
