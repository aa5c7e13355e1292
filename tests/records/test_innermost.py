"""The compiled loops and their plain twins: the plain ones accept what the compiled ones do, with equal results."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.records import innermost, innermost_plain
from barnabas.records.batch import HEADER_SIZE, BatchHeader, read_header
from barnabas.records.compression import Codec
from barnabas.records.record import Header, Record, build_batch
from barnabas.records.structure import survey_records
from barnabas.wire.errors import InvalidRecord

compiled = pytest.importorskip("barnabas.records._compiled", reason="there is no C compiler here")

LATEST_MS = 2**63 - 1
RECORDS_MAX = 1_000

records = st.builds(
    Record,
    timestamp=st.sampled_from([0, 1, 63, 64, 2**40, -1, -(2**40)]),
    key=st.none() | st.binary(max_size=70),
    value=st.none() | st.binary(max_size=70) | st.just(bytes(9_000)),
    headers=st.lists(st.builds(Header, st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=3).map(tuple),
)


def surveyed(body: bytes, count: int) -> bool:
    try:
        survey_records(body, 0, len(body), count)
    except InvalidRecord:
        return False
    return True


def mutated(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(3)):
        changed[rng.randrange(len(changed))] = rng.choice([0, 1, 2, 0x7F, 0x80, 0x81, 0xFF, rng.randrange(256)])
    if rng.random() < 0.2:
        del changed[rng.randrange(len(changed)) :]
    return bytes(changed)


def test_the_compiled_module_is_used_where_it_was_built() -> None:
    assert innermost.ordinary_header is compiled.ordinary_header
    assert innermost.records_fill is compiled.records_fill
    assert innermost.plain_records is compiled.plain_records
    assert innermost.seek_batch is compiled.seek_batch


@given(
    batch=st.lists(records, min_size=1, max_size=8),
    count_off_by=st.sampled_from([0, 0, 0, -1, 1]),
    rng=st.randoms(use_true_random=False),
)
def test_records_are_accepted_exactly_if_all_fields_of_all_are_valid(
    batch: list[Record], count_off_by: int, rng: random.Random
) -> None:
    body = mutated(build_batch(batch)[HEADER_SIZE:], rng)
    count = len(batch) + count_off_by
    accepted = compiled.records_fill(body, 0, len(body), count)
    assert accepted == surveyed(body, count)
    surrounded = memoryview(b"before" + body + body)
    assert compiled.records_fill(surrounded, 6, 6 + len(body), count) == accepted
    assert innermost_plain.records_fill(body, 0, len(body), count) >= accepted


@given(
    batch=st.lists(records, min_size=1, max_size=4),
    codec=st.sampled_from(Codec),
    transactional=st.booleans(),
    producer_id=st.sampled_from([-1, 0, 7]),
    rng=st.randoms(use_true_random=False),
)
def test_headers_are_read_alike(
    batch: list[Record], codec: Codec, transactional: bool, producer_id: int, rng: random.Random
) -> None:
    data = build_batch(
        batch,
        codec=codec,
        transactional=transactional,
        producer_id=producer_id,
        producer_epoch=min(producer_id, 0),
        base_sequence=min(producer_id, 0),
    )
    data = mutated(data[:HEADER_SIZE], rng) + data[HEADER_SIZE:]
    arguments = (BatchHeader, b"before" + data, 6, 6 + len(data), LATEST_MS, RECORDS_MAX)
    found = compiled.ordinary_header(*arguments)
    if found is not None:
        assert (type(found), found) == (BatchHeader, read_header(data))
    assert innermost_plain.ordinary_header(*arguments) == found


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    gap=st.integers(0, 2),
    offset=st.integers(-1, 40),
    first_last_offset_off_by=st.sampled_from([None, 0, 0, 1]),
    cut=st.integers(0, 130),
    rng=st.randoms(use_true_random=False),
)
def test_batches_are_sought_alike(
    sizes: list[int], gap: int, offset: int, first_last_offset_off_by: int | None, cut: int, rng: random.Random
) -> None:
    batches: list[bytes] = []
    base_offset = 7
    ends = []
    for size in sizes:
        batches.append(build_batch([Record(value=b"v")] * size, base_offset=base_offset))
        ends.append(base_offset + size)
        base_offset += size + gap
    data = b"".join(batches)
    first_last_offset = -1 if first_last_offset_off_by is None else ends[0] - 1 + first_last_offset_off_by
    window = memoryview(data)[: len(data) - min(cut, len(data))]
    found = compiled.seek_batch(window, len(data), first_last_offset, 7, offset)
    slot = next((slot for slot, end in enumerate(ends) if end > offset), len(sizes))
    position = sum(map(len, batches[:slot]))
    if first_last_offset_off_by == 1 and len(window) >= HEADER_SIZE:
        assert found is None
    elif position + HEADER_SIZE <= len(window):
        expected = (position, len(batches[slot]), ends[slot - 1] if slot else 7) if slot < len(sizes) else None
        assert found == expected or slot == len(sizes)
    else:
        assert found is not None
        assert found[1] == 0
    damaged = mutated(data, rng) if len(data) > 3 else data
    for content in (bytes(window), damaged):
        arguments = (content, len(data), first_last_offset, 7, offset)
        assert compiled.seek_batch(*arguments) == innermost_plain.seek_batch(*arguments)


@pytest.mark.parametrize("change", ["latest_ms", "records_max", "start", "end"])
def test_bounds_are_exact(change: str) -> None:
    data = build_batch([Record(timestamp=10, value=b"v")] * 3)
    good = {"start": 0, "end": len(data), "latest_ms": 10, "records_max": 3}
    bad = {"start": 1, "end": len(data) - 1, "latest_ms": 9, "records_max": 2}
    for module in (compiled, innermost_plain):
        for bounds, accepted in ((good, True), (good | {change: bad[change]}, False)):
            assert (module.ordinary_header(BatchHeader, data, *bounds.values()) is not None) == accepted


@pytest.mark.parametrize(("start", "end"), [(-1, 10), (0, 10_000), (70, 60), (10_000, 10_001), (0, 61), (0, 0)])
def test_nothing_is_read_outside_the_buffer(start: int, end: int) -> None:
    data = build_batch([Record(value=b"v")])
    for module in (compiled, innermost_plain):
        assert module.ordinary_header(BatchHeader, data, start, end, LATEST_MS, RECORDS_MAX) is None
        assert not module.records_fill(data, start, end, 1)


@pytest.mark.parametrize("latest_ms", [2**63, 2**70])
def test_no_bound_on_timestamps_may_be_larger_than_any_timestamp(latest_ms: int) -> None:
    data = build_batch([Record(timestamp=2**62, value=b"v")])
    for module in (compiled, innermost_plain):
        assert module.ordinary_header(BatchHeader, data, 0, len(data), latest_ms, 1) == read_header(data)


@given(pairs=st.lists(st.tuples(st.binary(max_size=200), st.none() | st.binary(max_size=200)), max_size=200))
def test_pairs_are_packed_alike(pairs: list[tuple[bytes, bytes | None]]) -> None:
    assert compiled.plain_records(pairs) == innermost_plain.plain_records(pairs)


@pytest.mark.parametrize(
    "wrong", [None, [b""], [(b"",)], [(None, b"")], [("key", b"")], [(b"", "value")], [(b"", b"", b"")]]
)
def test_other_than_pairs_of_bytes_is_a_mistake(wrong: object) -> None:
    with pytest.raises(TypeError):
        compiled.plain_records(wrong)


def test_arguments_are_checked() -> None:
    for wrong in ((), (1,), (b"", 0, 0), (b"", 0, 0, "1"), ("text", 0, 0, 0)):
        with pytest.raises(TypeError):
            compiled.records_fill(*wrong)
    for wrong in ((), (list, b"", 0, 0, 0, 0), (BatchHeader, "text", 0, 0, 0, 0), (BatchHeader, b"", 0, 0, 0, "1")):
        with pytest.raises(TypeError):
            compiled.ordinary_header(*wrong)
