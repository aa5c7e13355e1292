"""Encodes columns of zigzag varints: the sizes of many at once, and their bytes to many places at once."""

from typing import Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Unsigned = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

_GROUP_BITS: Final = 7
_VARLONG_BYTES_MAX: Final = 10
_MORE: Final = np.uint8(0x80)
_GROUP: Final = np.uint64(0x7F)


def zigzag(values: Ints) -> Unsigned:
    """Small numbers of either sign become small unsigned ones."""
    return ((values << 1) ^ (values >> 63)).view(np.uint64)


def varint_sizes(zigzags: Unsigned) -> Ints:
    """How many bytes each takes."""
    sizes = np.ones(len(zigzags), np.int64)
    largest = int(zigzags.max()) if len(zigzags) else 0
    for groups in range(1, _VARLONG_BYTES_MAX):
        bound = 1 << (_GROUP_BITS * groups)
        if largest < bound:
            break
        sizes += zigzags >= np.uint64(bound)
    return sizes


def varint_size(value: int) -> int:
    """Of a single number."""
    return int(varint_sizes(zigzag(np.array([value], np.int64)))[0])


def write_varints(target: Bytes, positions: Ints, zigzags: Unsigned, sizes: Ints) -> None:
    """Write each number at its position; `sizes` comes from `varint_sizes`."""
    if not len(zigzags):
        return
    longest = int(sizes.max())
    if longest == 1:
        target[positions] = zigzags
        return
    target[positions] = (zigzags & _GROUP).astype(np.uint8) | (sizes > 1) * _MORE
    rest = zigzags >> np.uint64(_GROUP_BITS)
    for index in range(1, longest):
        if (sizes > index).all():
            further = positions + index
        else:  # continue with those that have another byte
            longer = sizes > index
            positions, rest, sizes = positions[longer], rest[longer], sizes[longer]
            further = positions + index
        target[further] = (rest & _GROUP).astype(np.uint8) | (sizes > index + 1) * _MORE
        rest = rest >> np.uint64(_GROUP_BITS)


def starts_of(sizes: Ints) -> Ints:
    """Where each of these begins if they are in sequence; with one more entry for the end."""
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts
