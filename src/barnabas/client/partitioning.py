"""murmur2, the Java clients' hash of keys, for one key at a time.

It decides the partition of a key, so all clients that write to a topic must compute the same hash.
"""

from typing import Final

MURMUR2_SEED: Final = 0x9747B28C
MURMUR2_MULTIPLIER: Final = 0x5BD1E995
MURMUR2_SHIFT: Final = 24

_MASK: Final = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """32 bits, without a sign."""
    whole = len(key) & ~3
    value = murmur2_words(MURMUR2_SEED ^ len(key), key[:whole])
    rest = key[whole:]
    if rest:
        value = (value ^ int.from_bytes(rest, "little")) * MURMUR2_MULTIPLIER & _MASK
    value ^= value >> 13
    value = value * MURMUR2_MULTIPLIER & _MASK
    return value ^ value >> 15


def murmur2_words(value: int, words: bytes) -> int:
    """The hash after further whole words of four bytes."""
    for start in range(0, len(words), 4):
        word = int.from_bytes(words[start : start + 4], "little") * MURMUR2_MULTIPLIER & _MASK
        word = (word ^ word >> MURMUR2_SHIFT) * MURMUR2_MULTIPLIER & _MASK
        value = value * MURMUR2_MULTIPLIER & _MASK ^ word
    return value


def partition_of_hash(value: int, partitions: int) -> int:
    """As in the Java client, the sign bit is dropped."""
    return (value & 0x7FFFFFFF) % partitions
