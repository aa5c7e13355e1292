import contextlib
import gzip
import random
import subprocess
import sys
import zlib

import cramjam
import lz4.frame
import pytest
from aiokafka import codec as aiokafka_codec
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.compression import Codec, codec_of, compress, decompress, decompress_into
from barnabas.wire.errors import CorruptMessage, KafkaError, MessageTooLarge, UnsupportedCompressionType

COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"".join(b"line %d of a text that compresses rather well\n" % n for n in range(5000))
JUDGES = {
    Codec.GZIP: (aiokafka_codec.gzip_encode, aiokafka_codec.gzip_decode),
    Codec.SNAPPY: (aiokafka_codec.snappy_encode, aiokafka_codec.snappy_decode),
    Codec.LZ4: (aiokafka_codec.lz4_encode, aiokafka_codec.lz4_decode),
    Codec.ZSTD: (aiokafka_codec.zstd_encode, aiokafka_codec.zstd_decode),
}


@given(codec=st.sampled_from(Codec), data=st.binary(max_size=2000))
def test_round_trip(codec: Codec, data: bytes) -> None:
    compressed = compress(codec, data)
    assert decompress(codec, memoryview(compressed), max_bytes=len(data)) == data


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize("size", [1, 32 * 1024, 32 * 1024 + 1, 65536, len(TEXT)])
def test_a_client_reads_what_we_write_and_we_what_it_writes(codec: Codec, size: int) -> None:
    encode, decode = JUDGES[codec]
    data = TEXT[:size]
    assert bytes(decode(compress(codec, bytearray(data)))) == data
    assert decompress(codec, bytes(encode(data)), max_bytes=size) == data


@pytest.mark.parametrize(
    ("codec", "levels"),
    [(Codec.GZIP, [-1, *range(1, 10)]), (Codec.LZ4, range(1, 18)), (Codec.ZSTD, [-131072, -5, 1, 3, 10, 22])],
)
def test_every_level_is_readable_and_high_ones_are_smaller(codec: Codec, levels: list[int]) -> None:
    sizes = []
    for level in levels:
        compressed = compress(codec, TEXT, level)
        assert decompress(codec, compressed, max_bytes=len(TEXT)) == TEXT
        sizes.append(len(compressed))
    assert sizes[-1] < sizes[0] or codec is Codec.LZ4
    assert compress(Codec.LZ4, TEXT, 9) == compress(Codec.LZ4, TEXT)  # Kafka's default is the fast compressor
    assert len(compress(Codec.LZ4, TEXT, 12)) < len(compress(Codec.LZ4, TEXT))


@pytest.mark.parametrize("codec", list(Codec))
def test_decompression_is_bounded_exactly(codec: Codec) -> None:
    compressed = compress(codec, TEXT)
    assert decompress(codec, compressed, max_bytes=len(TEXT)) == TEXT
    for bound in (len(TEXT) - 1, 1000, 1, 0):
        with pytest.raises(MessageTooLarge):
            decompress(codec, compressed, max_bytes=bound)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_bomb_is_not_unpacked(codec: Codec) -> None:
    bomb = compress(codec, bytes(20_000_000))
    with pytest.raises(MessageTooLarge):
        decompress(codec, bomb, max_bytes=100_000)


def test_a_snappy_block_that_lies_about_its_size_allocates_nothing() -> None:
    lie = b"\xff\xff\xff\xff\x0f" + b"\x00a"  # 4 GiB, it says
    with pytest.raises(MessageTooLarge):
        decompress(Codec.SNAPPY, lie, max_bytes=1 << 20)


def test_raw_snappy_is_read() -> None:
    raw = bytes(cramjam.snappy.compress_raw(TEXT))
    assert decompress(Codec.SNAPPY, raw, max_bytes=len(TEXT)) == TEXT


def test_several_members_are_read_but_not_any_number() -> None:
    member = gzip.compress(b"ab")
    assert decompress(Codec.GZIP, member * 3, max_bytes=6) == b"ababab"
    with pytest.raises(MessageTooLarge):
        decompress(Codec.GZIP, member * 3, max_bytes=5)
    with pytest.raises(CorruptMessage):
        decompress(Codec.GZIP, gzip.compress(b"") * 1000, max_bytes=5)
    frame = compress(Codec.ZSTD, b"ab")
    assert decompress(Codec.ZSTD, frame * 2, max_bytes=4) == b"abab"


def test_lz4_blocks_are_independent_as_java_demands() -> None:
    info = lz4.frame.get_frame_info(compress(Codec.LZ4, TEXT))
    assert info["block_linked"] is False
    assert info["block_size_id"] == lz4.frame.BLOCKSIZE_MAX64KB


def test_linked_lz4_blocks_are_read_all_the_same() -> None:
    assert decompress(Codec.LZ4, lz4.frame.compress(TEXT), max_bytes=len(TEXT)) == TEXT


@pytest.mark.parametrize("codec", COMPRESSED)
def test_truncation_is_corrupt(codec: Codec) -> None:
    compressed = compress(codec, TEXT[:1000])
    for size in (0, 1, 4, 10, 18, len(compressed) // 2, len(compressed) - 1):
        with pytest.raises(CorruptMessage):
            decompress(codec, compressed[:size], max_bytes=1 << 20)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_other_bytes_are_not_mistaken_for_the_codec(codec: Codec) -> None:
    for wrong in (b"", b"plain text, not compressed", zlib.compress(TEXT[:100]), b"\xff" * 20):
        with pytest.raises(KafkaError):
            decompress(codec, wrong, max_bytes=1 << 20)


@given(
    codec=st.sampled_from(COMPRESSED),
    seed=st.integers(0, 2**32),
    flips=st.integers(1, 4),
    garbage=st.binary(max_size=4),
)
def test_mutations_raise_nothing_but_kafka_errors(codec: Codec, seed: int, flips: int, garbage: bytes) -> None:
    rng = random.Random(seed)
    mutated = bytearray(compress(codec, TEXT[: rng.randrange(2000)]) + garbage)
    for _ in range(flips):
        mutated[rng.randrange(len(mutated))] ^= 1 << rng.randrange(8)
    with contextlib.suppress(KafkaError):
        assert len(decompress(codec, mutated, max_bytes=4000)) <= 4000


@given(codec=st.sampled_from(COMPRESSED), data=st.binary(max_size=60))
def test_garbage_raises_nothing_but_kafka_errors(codec: Codec, data: bytes) -> None:
    with contextlib.suppress(KafkaError):
        decompress(codec, data, max_bytes=1000)


def test_into_room_that_is_there() -> None:
    compressed = compress(Codec.ZSTD, TEXT)
    room = bytearray(len(TEXT) + 10)
    assert decompress_into(Codec.ZSTD, memoryview(compressed), room) == len(TEXT)
    assert room == TEXT + bytes(10)
    assert decompress_into(Codec.ZSTD, compressed, memoryview(room)[: len(TEXT) - 1]) is None
    assert decompress_into(Codec.LZ4, compress(Codec.LZ4, TEXT), room) is None


@given(
    seed=st.integers(0, 2**32),
    flips=st.integers(0, 4),
    cut=st.integers(0, 30),
    frames=st.integers(0, 3),
    garbage=st.binary(max_size=20),
)
def test_into_room_and_anew_are_the_same(seed: int, flips: int, cut: int, frames: int, garbage: bytes) -> None:
    data = bytearray(compress(Codec.ZSTD, TEXT[:500]) * frames)
    data = data[: max(0, len(data) - cut)] if seed % 2 else data + garbage
    rng = random.Random(seed)
    for _ in range(flips if data else 0):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    room = bytearray(4000)
    size = decompress_into(Codec.ZSTD, bytes(data), room)
    if size is not None:
        assert decompress(Codec.ZSTD, bytes(data), max_bytes=len(room)) == room[:size]


@pytest.mark.parametrize("number", [5, 6, 7])
def test_unknown_codecs(number: int) -> None:
    for use in (lambda: codec_of(number), lambda: compress(number, b""), lambda: decompress(number, b"", max_bytes=1)):
        with pytest.raises(UnsupportedCompressionType):
            use()


def test_libraries_are_not_imported_before_they_are_needed() -> None:
    program = (
        "import sys, barnabas.records.admission\n"
        "assert not {'isal', 'cramjam', 'lz4', 'backports.zstd', 'compression.zstd', 'asyncio'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
