"""Every parser of bytes from outside, by name."""

from typing import Final

from fuzz.target import Target
from fuzz.targets import arrow, codec, disk, produce, records, stored, wire

TARGETS: Final[dict[str, Target]] = {
    target.name: target for room in (wire, codec, produce, records, disk, stored, arrow) for target in room.TARGETS
}
