import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.history.errors import BadManifest
from barnabas.history.manifest import Manifest, Partition, Piece, from_json, to_json

ONE = Manifest("t", "id").with_partition(0, 5).with_piece(0, Piece(5, 9, "0-5-9.parquet", 4, 100, 1, 2, 0, "ab"))


def test_it_reads_what_it_writes() -> None:
    manifest = ONE.with_schema("`a` INT").with_piece(0, Piece(9, 12)).with_piece(0, Piece(12, 20, is_lost=True))
    assert from_json(to_json(manifest), "t") == manifest
    assert manifest.tiered_through == {0: 20}


@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from(["file", "empty", "lost"])), max_size=12))
def test_pieces_always_follow_one_another(lengths: list[tuple[int, str]]) -> None:
    manifest = Manifest("t", None).with_partition(3, 0)
    at = 0
    for length, kind in lengths:
        file = f"{at}.parquet" if kind == "file" else None
        manifest = manifest.with_piece(3, Piece(at, at + length, file, is_lost=kind == "lost", sha256=file and "x"))
        at += length
    assert manifest.tiered_through == {3: at}
    assert from_json(to_json(manifest), "t") == manifest
    covered = [offset for piece in manifest.partitions[3].pieces for offset in range(piece.start, piece.end)]
    assert covered == list(range(at))


@pytest.mark.parametrize("piece", [Piece(10, 12), Piece(8, 12), Piece(9, 9), Piece(9, 10, "../x.parquet")])
def test_a_hole_an_overlap_or_a_file_elsewhere_is_refused(piece: Piece) -> None:
    with pytest.raises(BadManifest, match="is inconsistent"):
        ONE.with_piece(0, piece)


def test_neighbours_without_records_become_one() -> None:
    assert ONE.with_piece(0, Piece(9, 10)).with_piece(0, Piece(10, 14)).partitions[0].pieces[1:] == (Piece(9, 14),)


def _changed(**changes: Any) -> str:
    return json.dumps({**json.loads(to_json(ONE)), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        _changed(format="else"),
        _changed(topic="u"),
        _changed(schema=3),
        _changed(partitions={"0": {"start": 5, "tiered_through": 99, "pieces": []}}),
        _changed(partitions={"0": {"start": 5, "pieces": []}}),
        _changed(partitions=[1]),
        to_json(ONE)[:-20],
    ],
)
def test_what_cannot_be_a_manifest_is_refused_in_words(text: str) -> None:
    with pytest.raises(BadManifest) as caught:
        from_json(text, "t")
    assert "hint" in str(caught.value)


def test_a_later_version_asks_for_a_newer_program() -> None:
    with pytest.raises(BadManifest, match="version 2"):
        from_json(_changed(version=2), "t")


def test_the_front_can_be_forgotten() -> None:
    longer = ONE.with_piece(0, Piece(9, 12))
    assert longer.without_first(0, 1).partitions[0] == Partition(9, (Piece(9, 12),))
    assert longer.without_first(0, 2).tiered_through == {0: 12}
    assert longer.without_first(0, 0) == longer


def test_a_schema_that_comes_back_keeps_its_number() -> None:
    manifest = ONE.with_schema("`a` INT").with_schema("`b` INT").with_schema("`a` INT")
    assert (manifest.schemas, manifest.schema, manifest.declared) == (("`a` INT", "`b` INT"), 1, "`a` INT")
    assert manifest.with_schema(None) == replace(manifest, schema=0)
