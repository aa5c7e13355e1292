"""Hashes of whole columns of keys.

murmur2 goes through keys four bytes at a time. Here it goes through all keys at once: the n-th word of every key that
has one, then the next. Keys are sorted by length, so those that still have words are always the first ones. The few
that are much longer than the rest are finished one by one.
"""

import zlib
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from barnabas.client.partitioning import MURMUR2_MULTIPLIER, MURMUR2_SEED, MURMUR2_SHIFT, murmur2_words

Hashes = npt.NDArray[np.uint32]

# With fewer keys than this left, a step for each costs less than numpy's calls for all.
_TOGETHER_MIN: Final = 16
_M: Final = np.uint32(MURMUR2_MULTIPLIER)


def murmur2_column(keys: Any) -> Hashes:
    """The hash of each key in a binary array; undefined for nulls."""
    starts, lengths, data = _slices(keys)
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[order], lengths[order]
    hashes = np.uint32(MURMUR2_SEED) ^ lengths.astype(np.uint32)
    word_counts = lengths >> 2
    if len(data) >= 4:
        # every four bytes of the data as a number, wherever they begin
        words = np.ndarray((len(data) - 3,), "<u4", data, strides=(1,))
        _mix_words(hashes, starts, word_counts, words, data)
    _mix_rest(hashes, starts + (word_counts << 2), lengths & 3, data)
    hashes ^= hashes >> np.uint32(13)
    hashes *= _M
    hashes ^= hashes >> np.uint32(15)
    result = np.empty_like(hashes)
    result[order] = hashes
    return result


def _mix_words(hashes: Hashes, starts: Any, word_counts: Any, words: Any, data: Any) -> None:
    ascending = word_counts[::-1]
    count = len(hashes)
    for index in range(int(word_counts[0]) if count else 0):
        active = count - int(np.searchsorted(ascending, index, side="right"))
        if active < _TOGETHER_MIN:
            for key in range(active):
                begin = int(starts[key]) + 4 * index
                end = int(starts[key]) + 4 * int(word_counts[key])
                hashes[key] = murmur2_words(int(hashes[key]), data[begin:end].tobytes())
            return
        word = words[starts[:active] + 4 * index] * _M
        word ^= word >> np.uint32(MURMUR2_SHIFT)
        word *= _M
        hashes[:active] *= _M
        hashes[:active] ^= word


def _mix_rest(hashes: Hashes, positions: Any, counts: Any, data: Any) -> None:
    """The last one to three bytes of keys that have any."""
    for index in (2, 1, 0):
        longer = np.flatnonzero(counts > index)
        hashes[longer] ^= data[positions[longer] + index].astype(np.uint32) << np.uint32(8 * index)
    some = counts > 0
    hashes[some] *= _M


def crc32_column(keys: Any) -> Hashes:
    """librdkafka's hash; undefined for nulls."""
    starts, lengths, data = _slices(keys)
    view = data.data
    return np.fromiter(
        (zlib.crc32(view[start : start + length]) for start, length in zip(starts, lengths, strict=True)),
        np.uint32,
        len(lengths),
    )


def _slices(keys: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """The start and length of each key, and the bytes of all keys."""
    _, offsets, data = keys.buffers()
    if not len(keys) or offsets is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint8)
    borders = np.frombuffer(offsets, np.int32)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return borders[:-1], np.diff(borders), content
