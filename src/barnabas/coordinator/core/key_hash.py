"""Maps a group, a transactional id or a share-partition to the partition that coordinates it, by Java's string hash.

Other brokers compute the same, so the hash has to be exactly Java's, including Integer.MIN_VALUE, whose absolute value
is negative.
"""

from functools import lru_cache


@lru_cache(maxsize=16_384)
def java_hash(text: str) -> int:
    """Java's String.hashCode, over UTF-16 code units, as an unsigned number."""
    result = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        result = (31 * result + (high << 8 | low)) & 0xFFFF_FFFF
    return result


def partition_of(key: str, partition_count: int) -> int:
    hashed = java_hash(key)
    if hashed > 0x7FFF_FFFF:
        hashed = 0x1_0000_0000 - hashed
    return (hashed & 0x7FFF_FFFF) % partition_count
