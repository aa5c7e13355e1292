"""Chooses partitions; by default, keyed records go where the Java client puts them.

murmur2 and CRC32 are librdkafka's own; round robin and sticky are chosen here, record by record, because librdkafka
has neither for keyed records.
"""

import random
from collections.abc import Callable
from enum import StrEnum

Choose = Callable[[int], int]
"""From the size of the next record to its partition."""

# The Java client's batch.size: it stays with a partition until a batch is full.
STICKY_BATCH_BYTES = 16_384


class Partitioner(StrEnum):
    murmur2 = "murmur2"
    random = "random"
    round_robin = "round-robin"
    sticky = "sticky"
    crc32 = "crc32"
    consistent = "consistent"


# Keyless records are spread by librdkafka, a few milliseconds' worth at a time.
LIBRDKAFKA_NAMES = {
    Partitioner.murmur2: "murmur2_random",
    Partitioner.random: "random",
    Partitioner.crc32: "consistent_random",
    Partitioner.consistent: "consistent_random",
}


def round_robin(partitions: int) -> Choose:
    last = -1

    def choose(size: int) -> int:
        nonlocal last
        last = (last + 1) % partitions
        return last

    return choose


def sticky(partitions: int, random_source: random.Random) -> Choose:
    current = random_source.randrange(partitions)
    filled_bytes = 0

    def choose(size: int) -> int:
        nonlocal current, filled_bytes
        if filled_bytes and filled_bytes + size > STICKY_BATCH_BYTES and partitions > 1:
            current = (current + 1 + random_source.randrange(partitions - 1)) % partitions
            filled_bytes = 0
        filled_bytes += size
        return current

    return choose
