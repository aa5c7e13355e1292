"""Every parser of bytes from outside, by name."""

from typing import Final

from fuzz.target import Target
from fuzz.targets import arrow, disk, records, stored, wire

TARGETS: Final[dict[str, Target]] = {
    target.name: target for room in (wire, records, disk, stored, arrow) for target in room.TARGETS
}
