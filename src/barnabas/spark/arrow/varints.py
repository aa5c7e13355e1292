"""Zigzag varints of many records at once.

A gather of eight bytes costs hardly more than one of a single byte, and arithmetic on a column of words costs a tenth
of it. So a `Cursor` fetches the next eight bytes of every record as one 64-bit word (the first byte lowest), and reads
number after number out of those words until they run dry.

In a word, the first byte without its top bit ends the number: `~word & 0x8080...` has the candidates, its lowest set
bit is the end. Where all records of a column have numbers of one size, which is nearly always, the size is a plain
number instead of a column.

Nothing is read outside the buffer. A position at or past its end is an error. The last seven bytes are read by a word
that begins earlier and is shifted, so that zeros follow the end; a number that was cut off there ends in a position
past its record's end, which callers compare anyway.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from barnabas.records.batch import Buffer
from barnabas.records.varint import VARINT_BITS, VARLONG_BITS, read_varint
from barnabas.wire.errors import InvalidRecord

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

WORD_BYTES: Final = 8
_TOP_BITS: Final = 0x8080808080808080
_ALL_BITS: Final = 0xFFFFFFFFFFFFFFFF
_VARINT_BYTES_MAX: Final = 5
_BUFFER_BYTES_MAX: Final = (1 << 31) - 1
"""Arrow's binary columns have 32-bit offsets. Fetches are bounded far below."""


class Octets:
    """Bytes to read numbers from, as numpy and Arrow see them; only what is shorter than a word is copied."""

    def __init__(self, data: Buffer) -> None:
        self.size: Final = len(data)
        if self.size > _BUFFER_BYTES_MAX:
            raise ValueError(
                f"{self.size} bytes in one step, {_BUFFER_BYTES_MAX} can be addressed; fetch fewer at once"
            )
        self.data: Final = data
        padded = data if self.size >= WORD_BYTES else bytes(data).ljust(WORD_BYTES, b"\0")
        self.array: Final[npt.NDArray[np.uint8]] = np.frombuffer(padded, np.uint8)
        self.buffer: Final = pa.py_buffer(padded)
        self._last_word: Final = max(self.size, WORD_BYTES) - WORD_BYTES
        # A word begins at every byte: the stride is one.
        self.words: Final[Words] = np.ndarray((self._last_word + 1,), np.dtype("<u8"), self.array.data, 0, (1,))

    def words_at(self, positions: Ints) -> Words:
        """The eight bytes from each position on (never negative); zeros stand for what follows the end."""
        if not len(positions):
            return np.empty(0, np.uint64)
        last = int(positions.max())
        if last <= self._last_word:
            return self.words[positions]
        if last >= self.size:
            raise InvalidRecord("the batch ends inside a record")
        inside = np.minimum(positions, self._last_word)
        return self.words[inside] >> ((positions - inside) << 3).view(np.uint64)


def sizes_of(words: Words) -> Ints | int:
    """Bytes of the varint that begins each word, as one number if all have it; 9 where eight bytes do not end it."""
    ends = ~words & _TOP_BITS
    lowest = ends & (~ends + 1)
    first = int(lowest[0])
    if first and (lowest == first).all():
        return first.bit_length() >> 3
    # `lowest - 1` has a bit for every bit before the end; none at all found wraps to 64 of them.
    sizes: Ints = ((np.bitwise_count(lowest - 1) + 1) >> 3).astype(np.int64)
    sizes += lowest == 0
    return sizes


def raw_values(words: Words, sizes: Ints | int) -> Words:
    """The numbers of these sizes, as they are on the wire: zigzag not undone."""
    if isinstance(sizes, int):
        longest = sizes
        kept = words
    else:
        longest = int(sizes.max())
        kept = words & low_bytes(sizes)
    raw = kept & np.uint64(0x7F)
    for index in range(1, min(longest, WORD_BYTES)):
        raw |= (kept >> np.uint64(index)) & np.uint64(0x7F << (7 * index))
    return raw


def low_bytes(sizes: Ints) -> Words:
    """Masks with the bits of so many bytes; of all eight, if there are more."""
    unused = np.maximum(WORD_BYTES - sizes, 0) << 3
    masks: Words = np.uint64(_ALL_BITS) >> unused.view(np.uint64)
    return masks


def unzigzag(raw: Words) -> Ints:
    return ((raw >> 1) ^ (~(raw & 1) + 1)).view(np.int64)


class Cursor:
    """Reads the fields of many records in step; `positions` is where each record is now. Positions never go back."""

    def __init__(self, octets: Octets, positions: Ints) -> None:
        self.positions = positions
        self._octets: Final = octets
        self._words: Words = np.empty(0, np.uint64)
        self._left = 0  # bytes that every word still has

    def skip(self, distances: Ints | int) -> None:
        self.positions = self.positions + distances
        self._left = 0

    def keep(self, chosen: Bools) -> None:
        """Go on with these records only."""
        self.positions = self.positions[chosen]
        self._left = 0

    def skip_byte(self) -> None:
        self._advance(1)

    def skip_varint(self) -> None:
        """Past a number that nobody asks for."""
        sizes = self._next_sizes()
        if isinstance(sizes, int) or int(sizes.max()) <= WORD_BYTES:
            self._advance(sizes)
        else:
            self._read_slowly(VARLONG_BITS)

    def read_varint(self) -> Ints:
        """Numbers of 32 bits."""
        sizes = self._next_sizes()
        longest = sizes if isinstance(sizes, int) else int(sizes.max())
        if longest > _VARINT_BYTES_MAX:
            raise InvalidRecord(f"a number in a record has more than {VARINT_BITS} bits")
        raw = raw_values(self._words, sizes)
        if longest == _VARINT_BYTES_MAX and int(raw.max()) >> VARINT_BITS:
            raise InvalidRecord(f"a number in a record has more than {VARINT_BITS} bits")
        self._advance(sizes)
        return unzigzag(raw)

    def read_varlong(self) -> Ints:
        """Numbers of 64 bits."""
        sizes = self._next_sizes()
        if not isinstance(sizes, int) and int(sizes.max()) > WORD_BYTES:
            return self._read_slowly(VARLONG_BITS)
        raw = raw_values(self._words, sizes)
        self._advance(sizes)
        return unzigzag(raw)

    def _next_sizes(self) -> Ints | int:
        """With words that hold the next number whole, unless it has more than eight bytes."""
        fresh = self._left == 0
        if fresh:
            self._fill()
        sizes = sizes_of(self._words) if len(self._words) else 1
        longest = sizes if isinstance(sizes, int) else int(sizes.max())
        if longest > self._left and not fresh:  # what was shifted in is not the number's end
            self._fill()
            sizes = sizes_of(self._words)
        return sizes

    def _fill(self) -> None:
        self._words = self._octets.words_at(self.positions)
        self._left = WORD_BYTES

    def _advance(self, sizes: Ints | int) -> None:
        self.positions = self.positions + sizes
        longest = sizes if isinstance(sizes, int) else int(sizes.max())
        self._left = max(self._left - longest, 0)
        if self._left:
            bits = np.asarray(sizes, np.int64) << 3
            self._words = self._words >> bits.view(np.uint64)

    def _read_slowly(self, bits: int) -> Ints:
        """Nine bytes and more: only timestamps millions of years apart have them, one by one they shall be read."""
        data = bytes(self._octets.data)
        values = np.empty(len(self.positions), np.int64)
        positions = self.positions.tolist()
        for index, position in enumerate(positions):
            try:
                values[index], positions[index] = read_varint(data, position, bits)
            except IndexError:
                raise InvalidRecord("the batch ends inside a record") from None
        self.positions = np.array(positions, np.int64)
        self._left = 0
        return values
