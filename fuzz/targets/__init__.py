"""Every reader of bytes from outside, by name."""

from typing import Final

from fuzz.target import Target
from fuzz.targets import disk, records, stored, wire

TARGETS: Final[dict[str, Target]] = {
    target.name: target for room in (wire, records, disk, stored) for target in room.TARGETS
}
