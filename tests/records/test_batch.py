import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records.batch import (
    HEADER_SIZE,
    Batch,
    crc_is_valid,
    read_batch,
    read_header,
    split_batches,
    with_offsets,
)
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.wire.errors import CorruptMessage


def make_batch(count: int = 3, **options: int) -> bytes:
    return build_batch([Record(timestamp=1000 + n, key=b"k", value=b"v" * n) for n in range(count)], **options)


def test_header_is_read_field_by_field() -> None:
    data = make_batch(5, base_offset=40, leader_epoch=7, producer_id=9, producer_epoch=2, base_sequence=11)
    header = read_header(data)
    assert header.size == len(data)
    assert (header.base_offset, header.last_offset, header.next_offset) == (40, 44, 45)
    assert (header.leader_epoch, header.magic, header.record_count) == (7, 2, 5)
    assert (header.base_timestamp, header.max_timestamp) == (1000, 1004)
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.last_sequence) == (9, 2, 11, 15)
    assert header.has_producer_id
    assert read_header(b"ab" + data, 2) == header


@pytest.mark.parametrize(
    ("option", "flag"),
    [
        ({"transactional": True}, "is_transactional"),
        ({"control": True}, "is_control"),
        ({"log_append_time": 5}, "is_log_append_time"),
        ({"delete_horizon_ms": 5}, "has_delete_horizon"),
    ],
)
def test_each_flag_is_its_own(option: dict[str, int], flag: str) -> None:
    flags = ["is_transactional", "is_control", "is_log_append_time", "has_delete_horizon"]
    header = read_header(make_batch(**option))
    assert [name for name in flags if getattr(header, name)] == [flag]


def test_sequences_wrap_to_zero() -> None:
    header = read_header(make_batch(3, producer_id=1, producer_epoch=0, base_sequence=2**31 - 2))
    assert header.last_sequence == 0
    assert read_header(make_batch(3)).last_sequence == -1


def test_short_header_is_corrupt() -> None:
    data = make_batch()
    for size in range(HEADER_SIZE):
        with pytest.raises(CorruptMessage):
            read_header(data[:size])
    with pytest.raises(CorruptMessage):
        read_header(data, len(data) - 5)


def test_split_yields_whole_batches_and_leaves_a_partial_one() -> None:
    batches = [make_batch(count) for count in (1, 2, 3)]
    whole = b"".join(batches)
    assert [bytes(batch.data) for batch in split_batches(whole)] == batches
    for cut in range(1, len(batches[2])):
        assert [bytes(batch.data) for batch in split_batches(whole[:-cut])] == batches[:2]
    assert list(split_batches(b"")) == []


@pytest.mark.parametrize("length", [-1, 0, 48, -(2**31)])
def test_split_refuses_impossible_lengths(length: int) -> None:
    data = bytearray(make_batch())
    data[8:12] = length.to_bytes(4, "big", signed=True)
    with pytest.raises(CorruptMessage):
        list(split_batches(data))


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_split_refuses_other_magics(magic: int) -> None:
    data = bytearray(make_batch())
    data[16] = magic
    with pytest.raises(CorruptMessage):
        list(split_batches(data))


def test_read_batch_wants_exactly_one() -> None:
    data = make_batch()
    assert read_batch(data).data == data
    for wrong in (data * 2, data + b"x", data[:-1], b""):
        with pytest.raises(CorruptMessage):
            read_batch(wrong)


@given(position=st.integers(0, 200), bit=st.integers(0, 7))
def test_crc_covers_all_from_the_attributes_on(position: int, bit: int) -> None:
    data = bytearray(make_batch(30))
    data[position] ^= 1 << bit
    batch = Batch(read_header(data), memoryview(data))
    assert crc_is_valid(batch) == (position < 17)  # then come the CRC itself and what it covers


@given(base_offset=st.integers(0, 2**63 - 1), leader_epoch=st.integers(-1, 2**31 - 1))
def test_offsets_are_written_without_touching_the_rest(base_offset: int, leader_epoch: int) -> None:
    batch = read_batch(make_batch())
    pieces = with_offsets(batch, base_offset, leader_epoch)
    moved = read_batch(b"".join(pieces))
    assert crc_is_valid(moved)
    assert moved.header == batch.header._replace(base_offset=base_offset, leader_epoch=leader_epoch)
    assert [record.offset for record in decode_records(moved, max_bytes=0)] == [base_offset + n for n in range(3)]
    assert isinstance(pieces[1], memoryview)
    assert pieces[1].obj is batch.data.obj  # not copied
