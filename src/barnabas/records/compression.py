"""The codecs of a batch's records, in the framing every Kafka client reads.

    gzip    one gzip member or several
    snappy  written as snappy-java's stream ("xerial": a magic, then blocks of raw snappy with their length); a bare
            raw block is read too
    lz4     an LZ4 frame of independent blocks, the only kind the Java client accepts
    zstd    one frame or several; read with or without the content size, written with it: some clients need it

A codec's library is imported when the codec is first used: most brokers never compress. Decompression is bounded: it
allocates no more than `max_bytes`, and data that is larger is MessageTooLarge, which makes a producer split its batch.
Any error of a library is CorruptMessage.
"""

import sys
import zlib
from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import cache
from itertools import pairwise
from struct import Struct
from typing import Any, Final

from barnabas.records.batch import Buffer
from barnabas.wire.errors import CorruptMessage, MessageTooLarge, UnsupportedCompressionType


class Codec(IntEnum):
    """The low three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# The values of `compression.type` besides `producer`, which keeps the producer's compression.
CODEC_BY_COMPRESSION_TYPE: Mapping[str, Codec] = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}


def codec_of(number: int) -> Codec:
    try:
        return Codec(number)
    except ValueError:
        raise UnsupportedCompressionType(f"compression codec {number} does not exist") from None


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """`level` is the value of the codec's setting (`compression.gzip.level` and so on); None: its default."""
    match codec_of(codec):
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return _gzip_compress(data, level)
        case Codec.SNAPPY:
            return _snappy_compress(data)
        case Codec.LZ4:
            return _lz4_compress(data, level)
        case Codec.ZSTD:
            return bytes(_zstd().compress(data, level))


def decompress(codec: int, data: Buffer, *, max_bytes: int) -> bytes:
    return (_DECOMPRESS.get(codec) or _DECOMPRESS[codec_of(codec)])(data, max_bytes)


def decompress_into(codec: int, data: Buffer, room: Buffer) -> int | None:
    """Decompress to the start of `room` and return the size, with fewer copies than `decompress`.

    None: call `decompress`. The codec does not support this, the room is too small, or the data is damaged.
    """
    if codec != Codec.ZSTD:
        return None
    import cramjam

    try:
        return int(cramjam.zstd.decompress_into(data, room))
    except cramjam.DecompressionError:
        return None


def _check_bound(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise MessageTooLarge(f"the records of the batch decompress to more than {max_bytes} bytes")


def _corrupt(codec: Codec, reason: object) -> CorruptMessage:
    return CorruptMessage(f"the records do not decompress as {codec.name.lower()}: {reason}")


# Writers make one member or frame. Each further one costs a copy of everything after it, so their number is bounded.
_MEMBERS_MAX = 64


def _read_members(
    codec: Codec,
    new_decompressor: Callable[[], Any],
    failure: type[Exception],
    data: Buffer,
    max_bytes: int,
) -> bytes:
    """All members (gzip) or frames (lz4, zstd) of a stream; the three libraries have the same interface."""
    pieces: list[bytes] = []
    room = max_bytes
    rest: Buffer = data
    for _ in range(_MEMBERS_MAX):
        decompressor = new_decompressor()
        try:
            # One byte more than allowed tells "too large" from "just fits" (and 0 would mean "no bound" to zlib).
            piece = decompressor.decompress(rest, room + 1)
        except failure as error:
            raise _corrupt(codec, error) from error
        _check_bound(len(piece), room)
        if not decompressor.eof:
            raise _corrupt(codec, "the stream ends too early")
        pieces.append(piece)
        room -= len(piece)
        rest = decompressor.unused_data or b""
        if not rest:
            return b"".join(pieces)
    raise _corrupt(codec, f"more than {_MEMBERS_MAX} streams follow one another")


# --- gzip ---

_GZIP_WINDOW_BITS = 31  # makes zlib expect gzip's header and trailer
_ISAL_LEVEL_MAX = 3


def _gzip_compress(data: Buffer, level: int | None) -> bytes:
    from isal import isal_zlib

    if level is None or level < 0:
        return isal_zlib.compress(data, wbits=_GZIP_WINDOW_BITS)
    if level <= _ISAL_LEVEL_MAX:
        return isal_zlib.compress(data, level, _GZIP_WINDOW_BITS)
    # ISA-L compresses no better than zlib's low levels, so higher levels use zlib.
    return zlib.compress(data, level, _GZIP_WINDOW_BITS)


def _gzip_decompress(data: Buffer, max_bytes: int) -> bytes:
    from isal import isal_zlib

    def new_decompressor() -> object:
        return isal_zlib.decompressobj(wbits=_GZIP_WINDOW_BITS)

    failure: Any = isal_zlib.IsalError  # a class, but the library's stub declares an instance
    return _read_members(Codec.GZIP, new_decompressor, failure, data, max_bytes)


# --- snappy ---

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01" * 2  # version, and the oldest version able to read it
_XERIAL_BLOCK_BYTES = 32 * 1024  # snappy-java's
_LENGTH_STRUCT = Struct(">i")


def _snappy_compress(data: Buffer) -> bytes:
    import cramjam

    pieces = [_XERIAL_HEADER]
    view = memoryview(data)
    for start, stop in pairwise([*range(0, len(view), _XERIAL_BLOCK_BYTES), len(view)]):
        block = bytes(cramjam.snappy.compress_raw(bytes(view[start:stop])))
        pieces += (_LENGTH_STRUCT.pack(len(block)), block)
    return b"".join(pieces)


def _snappy_decompress(data: Buffer, max_bytes: int) -> bytes:
    view = memoryview(data)
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _snappy_block(view, max_bytes)
    if len(view) < len(_XERIAL_HEADER):
        raise _corrupt(Codec.SNAPPY, "the stream ends in its header")
    pieces: list[bytes] = []
    room = max_bytes
    position = len(_XERIAL_HEADER)
    while position < len(view):
        if len(view) - position < _LENGTH_STRUCT.size:
            raise _corrupt(Codec.SNAPPY, "the stream ends in a block's length")
        (size,) = _LENGTH_STRUCT.unpack_from(view, position)
        position += _LENGTH_STRUCT.size
        if not 0 < size <= len(view) - position:
            raise _corrupt(Codec.SNAPPY, f"a block claims {size} bytes, but {len(view) - position} are left")
        piece = _snappy_block(view[position : position + size], room)
        pieces.append(piece)
        room -= len(piece)
        position += size
    return b"".join(pieces)


def _snappy_block(block: memoryview, max_bytes: int) -> bytes:
    import cramjam

    raw = bytes(block)
    try:
        # The block states its size up front, and the library allocates that much without a check.
        _check_bound(cramjam.snappy.decompress_raw_len(raw), max_bytes)
        return bytes(cramjam.snappy.decompress_raw(raw))
    except cramjam.DecompressionError as error:
        raise _corrupt(Codec.SNAPPY, error) from error


# --- lz4 ---

_LZ4_LEVEL_DEFAULT = 9  # Kafka's number for "the fast compressor"; every other level is high compression
_LZ4_HIGH_COMPRESSION_MIN = 3  # below it the frame library takes the fast compressor


def _lz4_compress(data: Buffer, level: int | None) -> bytes:
    import lz4.frame

    fast = level is None or level == _LZ4_LEVEL_DEFAULT
    return bytes(
        lz4.frame.compress(
            data,
            compression_level=0 if fast or level is None else max(level, _LZ4_HIGH_COMPRESSION_MIN),
            block_size=lz4.frame.BLOCKSIZE_MAX64KB,
            block_linked=False,
            store_size=False,
        )
    )


_lz4_contexts: list[Any] = []
"""For decompression, to be used again: making one takes longer than decompressing a small batch."""


def _lz4_decompress(data: Buffer, max_bytes: int) -> bytes:
    """One frame, as clients write it; several take the way of the other codecs."""
    import lz4.frame

    try:
        context = _lz4_contexts.pop()  # atomic: threads may decompress at the same time
    except IndexError:
        context = lz4.frame.create_decompression_context()
    try:
        # One byte more than allowed tells "too large" from "just fits".
        body, used, is_whole = lz4.frame.decompress_chunk(context, data, max_bytes + 1)
        if is_whole and used == len(data) and len(body) <= max_bytes:
            return bytes(body)
    except RuntimeError as error:
        raise _corrupt(Codec.LZ4, error) from error
    finally:
        lz4.frame.reset_decompression_context(context)
        _lz4_contexts.append(context)
    return _read_members(Codec.LZ4, lz4.frame.LZ4FrameDecompressor, RuntimeError, data, max_bytes)


# --- zstd ---


@cache
def _zstd() -> Any:
    """The standard library's module from Python 3.14 on, its backport before."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _zstd_decompress(data: Buffer, max_bytes: int) -> bytes:
    zstd = _zstd()
    return _read_members(Codec.ZSTD, zstd.ZstdDecompressor, zstd.ZstdError, data, max_bytes)


# --- all of them ---


def _copy(data: Buffer, max_bytes: int) -> bytes:
    _check_bound(len(data), max_bytes)
    return bytes(data)


_DECOMPRESS: Final[Mapping[int, Callable[[Buffer, int], bytes]]] = {
    Codec.NONE: _copy,
    Codec.GZIP: _gzip_decompress,
    Codec.SNAPPY: _snappy_decompress,
    Codec.LZ4: _lz4_decompress,
    Codec.ZSTD: _zstd_decompress,
}
