"""Where each record of many batches begins: the one part of decoding that is sequential by nature.

A record says only how long it is, so the next one is found by stepping over this one. Three ways to step, all exact:

    runs      Records of one length lie at equal distances. Where every place that is expected under this guess holds
              the same length, the guess is proven from the first record on. All batches are guessed at once; what
              follows a run is the next guess. Deltas grow slowly, so records of like content come in few runs.
    abreast   One step in every batch at once, for lengths at random in many batches.
    one by one  A plain loop, for lengths at random in few batches.

A short look at the first batches decides. Every step is checked against the bytes that are there, and a batch's last
record must end where the batch does.
"""

from typing import Final, NamedTuple

import numpy as np

from barnabas.records.record import RECORD_SIZE_MIN
from barnabas.records.varint import read_varint
from barnabas.spark.arrow.varints import Bools, Ints, Octets, Words, low_bytes, raw_values, sizes_of
from barnabas.wire.errors import InvalidRecord

_LOOK_BATCHES: Final = 32
_LOOK_RECORDS: Final = 16
_RUN_RECORDS_MIN: Final = 6
"""Mean length of a run from which on guessing is cheaper than stepping."""
_ABREAST_MIN: Final = 64
"""Batches from which on a step in all of them is cheaper than a loop over them: about 10 us against 0.1 us each."""
_NOTED_MAX: Final = 1 << 16
"""Numbers of Python take nine times the memory of numpy's."""
_LENGTH_BYTES_MAX: Final = 5
_LENGTH_MIN: Final = RECORD_SIZE_MIN - 1


class Bodies(NamedTuple):
    """The records of each batch: where they begin and end, and how many they are. One row per batch, in order."""

    starts: Ints
    ends: Ints
    counts: Ints


class _Open(NamedTuple):
    """Batches that are not walked to their end: where the next record begins, and where its start is to be noted."""

    positions: Ints
    ends: Ints
    counts: Ints
    slots: Ints

    def where(self, chosen: Bools | Ints | slice) -> "_Open":
        return _Open(*(column[chosen] for column in self))


def record_starts(octets: Octets, bodies: Bodies) -> Ints:
    """The first byte (of the length) of every record, batch after batch. InvalidRecord if the lengths do not add up."""
    sizes = bodies.ends - bodies.starts
    if (bodies.counts < 0).any() or (bodies.counts * RECORD_SIZE_MIN > sizes).any():
        raise InvalidRecord("a batch claims more records than its bytes can hold")
    if ((bodies.counts == 0) & (sizes > 0)).any():
        raise InvalidRecord("bytes follow the records that the batch claims")
    ends = np.cumsum(bodies.counts)
    starts = np.empty(int(ends[-1]) if len(ends) else 0, np.int64)
    walk = _Open(bodies.starts, bodies.ends, bodies.counts, ends - bodies.counts)
    if not bodies.counts.all():
        walk = walk.where(bodies.counts > 0)
    while len(walk.counts) and _comes_in_runs(octets, walk):
        walk = _step_over_runs(octets, walk, starts)
    if len(walk.counts) >= _ABREAST_MIN:
        walk = _step_abreast(octets, walk, starts)
    for position, end, count, slot in zip(*(column.tolist() for column in walk), strict=True):
        _step_one_by_one(octets, position, end, starts[slot : slot + count])
    return starts


def _lengths(words: Words) -> tuple[Ints, Ints | int]:
    """The length of the record that begins each word, with its own bytes; and how many bytes those are."""
    sizes = sizes_of(words)
    if (sizes if isinstance(sizes, int) else int(sizes.max())) > _LENGTH_BYTES_MAX:
        raise InvalidRecord("a record's length has more than 32 bits")
    raw = raw_values(words, sizes).view(np.int64)
    if (raw & 1).any() or int(raw.min()) >> 1 < _LENGTH_MIN:
        raise InvalidRecord("a record is shorter than its fields can be")
    return (raw >> 1) + sizes, sizes


class _Runs(NamedTuple):
    strides: Ints
    lengths: Ints
    """Records in each batch's run; one at least."""
    places: Ints
    """Of all records that were guessed, run after run, cut where the guess failed."""
    slots: Ints


def _runs(octets: Octets, walk: _Open, records_max: int) -> _Runs:
    words = octets.words_at(walk.positions)
    strides, sizes = _lengths(words)
    guessed = np.minimum((walk.ends - walk.positions) // strides, np.minimum(walk.counts, records_max))
    if not guessed.all():
        raise InvalidRecord("a record is longer than what is left of its batch")
    total = int(guessed.sum())
    starts_of_runs = np.cumsum(guessed) - guessed
    index_in_run = np.arange(total, dtype=np.int64) - np.repeat(starts_of_runs, guessed)
    places = np.repeat(walk.positions, guessed) + index_in_run * np.repeat(strides, guessed)
    masks = low_bytes(np.full(len(words), sizes, np.int64) if isinstance(sizes, int) else sizes)
    same = (octets.words_at(places) & np.repeat(masks, guessed)) == np.repeat(words & masks, guessed)
    slots = np.repeat(walk.slots, guessed) + index_in_run
    if same.all():
        return _Runs(strides, guessed, places, slots)
    lengths = guessed.copy()
    failures = np.flatnonzero(~same)
    runs, first = np.unique(np.searchsorted(starts_of_runs, failures, side="right") - 1, return_index=True)
    lengths[runs] = index_in_run[failures[first]]
    proven = index_in_run < np.repeat(lengths, guessed)
    return _Runs(strides, lengths, places[proven], slots[proven])


def _comes_in_runs(octets: Octets, walk: _Open) -> bool:
    some = walk.where(slice(_LOOK_BATCHES))
    lengths = _runs(octets, some, _LOOK_RECORDS).lengths
    # A run that reaches its batch's end could not be longer.
    return int(lengths.sum()) >= min(_RUN_RECORDS_MIN * len(lengths), int(some.counts.sum()))


def _step_over_runs(octets: Octets, walk: _Open, starts: Ints) -> _Open:
    runs = _runs(octets, walk, len(starts))
    starts[runs.slots] = runs.places
    rest = _Open(
        walk.positions + runs.lengths * runs.strides, walk.ends, walk.counts - runs.lengths, walk.slots + runs.lengths
    )
    finished = rest.counts == 0
    if (rest.positions[finished] != rest.ends[finished]).any():
        raise InvalidRecord("bytes follow the records that the batch claims")
    return rest.where(~finished)


def _step_abreast(octets: Octets, walk: _Open, starts: Ints) -> _Open:
    """All batches but the last few that have many more records than the others."""
    walk = walk.where(np.argsort(-walk.counts, kind="stable"))
    # How many batches have a record for the first, the second, ... step; the batches with most records stand first.
    longest = int(walk.counts[_ABREAST_MIN - 1])
    widths = np.searchsorted(-walk.counts, -np.arange(longest), side="left").tolist()
    positions = walk.positions.copy()
    for step, width in enumerate(widths):
        now = positions[:width]
        starts[walk.slots[:width] + step] = now
        now += _lengths(octets.words_at(now))[0]
    rest = _Open(positions, walk.ends, walk.counts - np.minimum(walk.counts, longest), walk.slots + longest)
    if (positions > walk.ends).any() or (positions != walk.ends)[rest.counts == 0].any():
        raise InvalidRecord("the records of a batch do not end where the batch does")
    return rest.where(rest.counts > 0)


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
