"""The topics and groups that the requests name."""

from typing import Final

from bench.admin import make_topic
from bench.frames import batch_of
from bench.load import bare_produce
from bench.load.groups import find_coordinator

TOPIC: Final = "requests"
PARTITIONS: Final = 8
WIDE_TOPIC: Final = "requests-wide"
"""Has no records."""
WIDE_PARTITIONS: Final = 100
OTHER_TOPICS: Final = tuple(f"requests-{number}" for number in range(9))
GROUPS: Final = tuple(f"requests-group-{number}" for number in range(PARTITIONS))


def make_topics(port: int) -> None:
    make_topic(port, TOPIC, PARTITIONS)
    make_topic(port, WIDE_TOPIC, WIDE_PARTITIONS)
    for name in OTHER_TOPICS:
        make_topic(port, name)
    bare_produce.pump(port, TOPIC, batch_of(1, 100), PARTITIONS, PARTITIONS)
    for group in GROUPS:
        find_coordinator(port, group)
