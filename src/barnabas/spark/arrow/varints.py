"""Reads zigzag varints of many records at once.

A gather of eight bytes costs hardly more than one of a single byte, and arithmetic on a column of words costs a tenth
of it. So a `Cursor` fetches the next eight bytes of every record as one 64-bit word (the first byte lowest), and reads
number after number from those words until they are used up.

In a word, the first byte without its top bit ends the number. If all numbers of a column have the same size, which is
nearly always, that size is a plain number instead of a column.

Nothing is read outside the buffer. A position at or past its end is an error. The last seven bytes are read by a word
that begins earlier and is shifted, so that zeros follow the end; a number that is truncated there ends past its
record's end, which callers check anyway.
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
_VARINT_BYTES_MAX: Final = 5
_BUFFER_BYTES_MAX: Final = (1 << 31) - 1
"""Arrow's binary columns have 32-bit offsets. Fetches are bounded far below."""


class Octets:
    """Bytes to read numbers from, as numpy and Arrow see them; copied only if shorter than a word."""

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
        self.last_word: Final = max(self.size, WORD_BYTES) - WORD_BYTES
        # A word begins at every byte: the stride is one.
        self.words: Final[Words] = np.ndarray((self.last_word + 1,), np.dtype("<u8"), self.array.data, 0, (1,))

    def words_at(self, positions: Ints) -> Words:
        """The eight bytes from each position on (never negative); zeros after the end."""
        if not len(positions):
            return np.empty(0, np.uint64)
        last = int(positions.max())
        if last <= self.last_word:
            return self.words[positions]
        if last >= self.size:
            raise InvalidRecord("the batch ends inside a record")
        inside = np.minimum(positions, self.last_word)
        return self.words[inside] >> ((positions - inside) << 3).view(np.uint64)


def numbers_at(words: Words) -> tuple[Words, Ints | int]:
    """The numbers at the start of the words, as on the wire (zigzag not decoded), and their sizes in bytes.

    A single size if all are the same; 9 for a number of more than eight bytes.
    """
    size = _one_size(words)
    if size:
        raw = words & np.uint64(0x7F)
        for index in range(1, size):
            raw |= (words >> np.uint64(index)) & np.uint64(0x7F << (7 * index))
        return raw, size
    raw = words & np.uint64(0x7F)
    goes_on = (words >> np.uint64(7)) & np.uint64(1)  # 1 or 0 in each
    sizes = np.ones(len(words), np.uint64)
    for index in range(1, WORD_BYTES):
        sizes += goes_on
        raw |= ((words >> np.uint64(index)) & np.uint64(0x7F << (7 * index))) * goes_on
        goes_on &= words >> np.uint64(8 * index + 7)
        if not goes_on.any():
            break
    else:
        sizes += goes_on
    return raw, sizes.view(np.int64)


def _one_size(words: Words) -> int:
    """The size of the numbers at the start of the words if it is the same for all; otherwise 0."""
    end = ~int(words[0]) & _TOP_BITS
    size = (end & -end).bit_length() >> 3
    tops = _TOP_BITS & ((1 << (8 * size)) - 1)
    return size if size and ((words & np.uint64(tops)) == np.uint64(tops >> 8)).all() else 0


def unzigzag(raw: Words) -> Ints:
    one = np.uint64(1)
    return ((raw >> one) ^ (np.uint64(0) - (raw & one))).view(np.int64)


class Cursor:
    """Reads the fields of many records in step. Positions never go back."""

    def __init__(self, octets: Octets, positions: Ints) -> None:
        self._octets: Final = octets
        self._positions = positions
        self._ahead = 0  # not added to the positions yet
        self._words: Words = np.empty(0, np.uint64)
        self._left = 0  # bytes left in every word

    @property
    def positions(self) -> Ints:
        """Where each record is now."""
        if self._ahead:
            self._positions = self._positions + self._ahead
            self._ahead = 0
        return self._positions

    def skip(self, distances: Ints) -> None:
        self._positions = self.positions + distances
        self._left = 0

    def keep(self, chosen: Bools) -> None:
        """Continue with these records only."""
        self._positions = self.positions[chosen]
        self._left = 0

    def skip_byte(self) -> None:
        self._advance(1, 1)

    def skip_varint(self) -> None:
        """Skip a number."""
        self.read_varlong()

    def read_varint(self) -> Ints:
        """Numbers of 32 bits."""
        raw, sizes, longest = self._next()
        if longest > _VARINT_BYTES_MAX or (longest == _VARINT_BYTES_MAX and int(raw.max()) >> VARINT_BITS):
            raise InvalidRecord(f"a number in a record has more than {VARINT_BITS} bits")
        self._advance(sizes, longest)
        return unzigzag(raw)

    def read_varlong(self) -> Ints:
        """Numbers of 64 bits."""
        raw, sizes, longest = self._next()
        if longest > WORD_BYTES:
            return self._read_slowly()
        self._advance(sizes, longest)
        return unzigzag(raw)

    def _next(self) -> tuple[Words, Ints | int, int]:
        """The next numbers, their sizes, and the largest size: 9 if a number has more than eight bytes."""
        if not len(self._positions):
            return np.empty(0, np.uint64), 0, 0
        fresh = not self._left
        if fresh:
            self._fill()
        raw, sizes = numbers_at(self._words)
        longest = sizes if isinstance(sizes, int) else int(sizes.max())
        if longest > self._left and not fresh:  # zeros were shifted in, and looked like the end of the number
            self._fill()
            raw, sizes = numbers_at(self._words)
            longest = sizes if isinstance(sizes, int) else int(sizes.max())
        return raw, sizes, longest

    def _fill(self) -> None:
        self._words = self._octets.words_at(self.positions)
        self._left = WORD_BYTES

    def _advance(self, sizes: Ints | int, longest: int) -> None:
        self._left = max(self._left - longest, 0)
        if isinstance(sizes, int):
            self._ahead += sizes
            if self._left:
                self._words = self._words >> np.uint64(8 * sizes)
        else:
            self._positions = self._positions + sizes
            if self._left:
                self._words = self._words >> (sizes << 3).view(np.uint64)

    def _read_slowly(self) -> Ints:
        """Numbers of nine bytes and more, one by one: only timestamps millions of years apart need them."""
        data = bytes(self._octets.data)
        values = np.empty(len(self._positions), np.int64)
        positions = self.positions.tolist()
        for index, position in enumerate(positions):
            try:
                values[index], positions[index] = read_varint(data, position, VARLONG_BITS)
            except IndexError:
                raise InvalidRecord("the batch ends inside a record") from None
        self._positions = np.array(positions, np.int64)
        self._left = 0
        return values
