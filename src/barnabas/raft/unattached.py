"""Knows an epoch and no leader of it: where a replica begins that never led."""

from typing import NamedTuple


class Unattached(NamedTuple):
    epoch: int
