"""Finds where each record of many batches begins: the only part of decoding that is inherently sequential.

A record only has its length, so the next one is found by stepping over this one. There are three ways, all exact:

    runs        Records of the same length are at equal distances. If every expected position has the same length, the
                guess is proven from the first record on; the record after a run is the next guess. Records of similar
                content form few runs, as only their deltas grow.
    lanes       One step in many places at once, for random lengths (`lanes`).
    one by one  A plain loop, for few records, and for the rest.

A sample of the first batches decides. No step leaves the buffer, and a batch's last record must end where the batch
does.
"""

from typing import Final, NamedTuple

import numpy as np

from barnabas.records.structure import RECORD_SIZE_MIN
from barnabas.records.varint import read_varint
from barnabas.spark.arrow.lanes import walk_in_lanes
from barnabas.spark.arrow.varints import WORD_BYTES, Bools, Ints, Octets, Words, numbers_at
from barnabas.wire.errors import InvalidRecord

_LOOK_BATCHES: Final = 32
_LOOK_RECORDS: Final = 16
_FEW: Final = 100
"""So many records are found one by one, without a sample."""
_RUN_RECORDS_MIN: Final = 6
"""With a longer mean run, guessing is cheaper than stepping."""
_RUN_RECORDS_MAX: Final = 1 << 18
_LONG_RUN: Final = 512
"""With more records in a guess, a batch is worth its own calls."""
_LANES_RECORDS: Final = range(2000, 1 << 18)
"""Fewer are found faster one by one; more would need much memory."""
_NOTED_MAX: Final = 1 << 16
"""Python integers take nine times the memory of numpy's."""
_LENGTH_BYTES_MAX: Final = 5
_LENGTH_MIN: Final = RECORD_SIZE_MIN - 1
# Records at which offset deltas, mostly their numbers in the batch, become a byte longer: no run goes past them.
_DELTA_GROWS_AT: Final = np.array([1 << 6, 1 << 13, 1 << 20, 1 << 27, 1 << 34], np.int64)


class Bodies(NamedTuple):
    """The records of each batch: where they begin and end, and how many there are. One row per batch, in order."""

    starts: Ints
    ends: Ints
    counts: Ints


class _Open(NamedTuple):
    """Batches that are not finished: where the next record begins, and where to store its start."""

    positions: Ints
    ends: Ints
    counts: Ints
    """Remaining records."""
    slots: Ints
    walked: Ints
    """Finished records."""

    def where(self, chosen: Bools | Ints | slice) -> "_Open":
        return _Open(*(column[chosen] for column in self))

    def after(self, records: Ints, positions: Ints) -> "_Open":
        """After so many records; without finished batches, which must have ended at their end."""
        counts = self.counts - records
        done = counts == 0
        if (positions[done] != self.ends[done]).any():
            raise InvalidRecord("bytes follow the records that the batch claims")
        rest = _Open(positions, self.ends, counts, self.slots + records, self.walked + records)
        return rest.where(~done)


def record_starts(octets: Octets, bodies: Bodies) -> Ints:
    """The first byte (of the length) of every record, batch after batch. InvalidRecord if the lengths do not add up."""
    sizes = bodies.ends - bodies.starts
    if (bodies.counts < 0).any() or (bodies.counts * RECORD_SIZE_MIN > sizes).any():
        raise InvalidRecord("a batch claims more records than its bytes can hold")
    if ((bodies.counts == 0) & (sizes > 0)).any():
        raise InvalidRecord("bytes follow the records that the batch claims")
    ends = np.cumsum(bodies.counts)
    starts = np.empty(int(ends[-1]) if len(ends) else 0, np.int64)
    walk = _Open(bodies.starts, bodies.ends, bodies.counts, ends - bodies.counts, np.zeros_like(ends))
    if not bodies.counts.all():
        walk = walk.where(bodies.counts > 0)
    while int(walk.counts.sum()) >= _FEW and (run := _usual_run(octets, walk)) >= _RUN_RECORDS_MIN:
        walk = _step_over_runs(octets, walk, min(4 * run, _RUN_RECORDS_MAX), starts)
    if int(walk.counts.sum()) in _LANES_RECORDS:
        walk = _step_in_lanes(octets, walk, starts)
    for position, end, count, slot, _ in zip(*(column.tolist() for column in walk), strict=True):
        _step_one_by_one(octets, position, end, starts[slot : slot + count])
    return starts


# --- runs ---


class _Guess(NamedTuple):
    """The guess that so many records of each batch are as long as the next one."""

    records: Ints
    strides: Ints
    words: Words
    """The length only: other bytes are zero."""
    masks: Words
    """The bytes of the length."""


def _guess(octets: Octets, walk: _Open, records_max: int) -> _Guess:
    words = octets.words_at(walk.positions)
    raw, sizes = numbers_at(words)
    lengths = (raw >> np.uint64(1)).view(np.int64)
    size_max = sizes if isinstance(sizes, int) else int(sizes.max())
    if size_max > _LENGTH_BYTES_MAX or (raw & np.uint64(1)).any() or int(lengths.min()) < _LENGTH_MIN:
        raise InvalidRecord("the length of a record is invalid")
    strides = lengths + sizes
    grows_in = _DELTA_GROWS_AT[np.searchsorted(_DELTA_GROWS_AT, walk.walked, side="right")] - walk.walked
    fitting = (walk.ends - walk.positions) // strides
    if not fitting.all():
        raise InvalidRecord("a record is longer than the rest of its batch")
    records = np.minimum(np.minimum(fitting, walk.counts), np.minimum(grows_in, records_max))
    unused = np.asarray(WORD_BYTES - sizes, np.int64) << 3
    masks = np.broadcast_to(np.uint64(0xFFFFFFFFFFFFFFFF) >> unused.view(np.uint64), words.shape)
    return _Guess(records, strides, words & masks, masks)


def _proven(octets: Octets, walk: _Open, guess: _Guess) -> tuple[Ints, Ints]:
    """How many records of each batch are as long as guessed, at least one; and the positions of all in a matrix."""
    # A few batches with many more records than the others are not worth a wide matrix: their rest is another guess.
    width = min(int(guess.records.max()), 2 * int(guess.records.mean()) + 1)
    places = walk.positions[:, None] + guess.strides[:, None] * np.arange(width, dtype=np.int64)
    inside = places if int(places.max()) <= octets.last_word else np.minimum(places, octets.last_word)
    same = (octets.words[inside] & guess.masks[:, None]) == guess.words[:, None]
    same[:, 0] = True
    records = np.where(same.all(axis=1), width, same.argmin(axis=1))
    return np.minimum(records, guess.records), places


def _usual_run(octets: Octets, walk: _Open) -> int:
    """The mean number of records with the same length in the first batches; very large if no run ended."""
    some = walk.where(slice(_LOOK_BATCHES))
    guess = _guess(octets, some, _LOOK_RECORDS)
    records, _ = _proven(octets, some, guess)
    return len(octets.words) if (records == guess.records).all() else int(records.mean())


def _step_over_runs(octets: Octets, walk: _Open, records_max: int, starts: Ints) -> _Open:
    guess = _guess(octets, walk, records_max)
    if int(guess.records.mean()) >= _LONG_RUN:
        records = _note_long_runs(octets, walk, guess, starts)
    else:
        records, places = _proven(octets, walk, guess)
        columns = np.arange(places.shape[1], dtype=np.int64)
        slots = walk.slots[:, None] + columns
        if (records == len(columns)).all():
            starts[slots] = places
        else:
            noted = columns < records[:, None]
            starts[slots[noted]] = places[noted]
    return walk.after(records, walk.positions + records * guess.strides)


def _note_long_runs(octets: Octets, walk: _Open, guess: _Guess, starts: Ints) -> Ints:
    """Batch by batch, without a list of positions: a view with the run's stride has the lengths."""
    found = guess.records.tolist()
    rows = zip(*(column.tolist() for column in (walk.positions, guess.strides, walk.slots)), strict=True)
    for index, (position, stride, slot) in enumerate(rows):
        seen = min(found[index], (octets.last_word - position) // stride + 1)  # of which eight bytes can be read
        if seen > 1:
            words: Words = np.ndarray((seen,), np.dtype("<u8"), octets.array.data, position, (stride,))
            same = (words & guess.masks[index]) == guess.words[index]
            found[index] = seen if same.all() else int(same.argmin())
        else:
            found[index] = 1
        end = position + stride * found[index]
        starts[slot : slot + found[index]] = np.arange(position, end, stride, dtype=np.int64)
    return np.array(found, np.int64)


# --- one by one, or in lanes ---


def _step_in_lanes(octets: Octets, walk: _Open, starts: Ints) -> _Open:
    sound, found = walk_in_lanes(octets, walk.positions, walk.ends, walk.counts)
    done = walk.where(sound)
    before = np.cumsum(done.counts) - done.counts
    starts[np.repeat(done.slots - before, done.counts) + np.arange(len(found))] = found
    return walk.where(~sound)


def _step_one_by_one(octets: Octets, first: int, end: int, starts: Ints) -> None:
    body = bytes(memoryview(octets.data)[first:end])  # indexing a view is slower than indexing bytes
    position = 0
    try:
        for slot in range(0, len(starts), _NOTED_MAX):
            noted: list[int] = []
            note = noted.append
            for _ in range(min(_NOTED_MAX, len(starts) - slot)):
                note(position)
                low = body[position]
                if low < 0x80:
                    position += 1 + (low >> 1)
                    continue
                high = body[position + 1]
                if high < 0x80:
                    position += 2 + ((low & 0x7F | high << 7) >> 1)
                    continue
                length, position = read_varint(body, position)
                position += max(length, 0)
            starts[slot : slot + len(noted)] = noted
    except IndexError:
        raise InvalidRecord("the batch ends inside a record") from None
    if position != len(body):
        raise InvalidRecord("the records of a batch do not end where the batch does")
    starts += first
    if (octets.array[starts] & 1).any():
        raise InvalidRecord("the length of a record is negative")
