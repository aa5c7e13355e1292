"""The reasons why a record does not match its schema. Needs no Spark."""

import pytest
from flow_world import source_of

from barnabas.pipeline.flow.misfits import UNKNOWN, misfit
from barnabas.pipeline.project.durations import Duration
from barnabas.pipeline.project.model import Deduplicate, Format, Watermark

SCHEMA = (
    "id STRING NOT NULL, n INT, price DECIMAL(4, 2), at TIMESTAMP, day DATE, ok BOOLEAN, name VARCHAR(3), "
    "tags ARRAY<STRING>, deep STRUCT<a: INT NOT NULL, m: MAP<STRING, BIGINT>>"
)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "the record has no value"),
        (b'{"id": "\xff"}', "not text in UTF-8: byte 8 is 0xff"),
        (b"", "not JSON: the value is empty"),
        (b'{"id": "a"', "not JSON: Expecting ',' delimiter at character 11"),
        (b'{"id": "a"} {"id": "b"}', "not JSON: Extra data at character 13"),
        (b"[1]", "expected a JSON object, not [1]"),
        (b'{"n": 1}', "column `id` is missing, and needed by the schema (NOT NULL)"),
        (b'{"id": null}', "column `id` is null, and needed by the schema (NOT NULL)"),
        (b'{"id": "a", "n": 1.5}', "column `n`: 1.5 is not an INT"),
        (b'{"id": "a", "n": 3000000000}', "column `n`: 3000000000 is not an INT"),
        (b'{"id": "a", "n": true}', "column `n`: true is not an INT"),
        (b'{"id": "a", "price": 123.4}', "column `price`: 123.4 is not a DECIMAL(4, 2)"),
        (b'{"id": "a", "at": "yesterday"}', 'column `at`: "yesterday" is not a TIMESTAMP'),
        (b'{"id": "a", "day": "2026-13-01"}', 'column `day`: "2026-13-01" is not a DATE'),
        (b'{"id": "a", "ok": "yes"}', 'column `ok`: "yes" is not a BOOLEAN'),
        (b'{"id": "a", "name": "long"}', 'column `name`: "long" is not a VARCHAR(3)'),
        (b'{"id": "a", "tags": "t"}', 'column `tags`: "t" is not an ARRAY<STRING>'),
        (b'{"id": "a", "deep": {}}', "column `deep.a` is missing or null, and needed by the schema (NOT NULL)"),
        (b'{"id": "a", "deep": {"a": 1, "m": {"k": "v"}}}', 'column `deep.m.k`: "v" is not a BIGINT'),
        (b'{"id": "a", "n": 1, "other": [1]}', UNKNOWN),
    ],
)
def test_what_is_wrong_with_json(value: bytes | None, said: str) -> None:
    assert misfit(value, source_of(schema=SCHEMA)) == said


def test_columns_that_the_source_itself_needs() -> None:
    needs = source_of(
        schema="id STRING, at TIMESTAMP",
        watermark=Watermark("at", Duration(1)),
        deduplicate=Deduplicate(("id",), Duration(1)),
    )
    assert misfit(b'{"id": "a"}', needs) == "column `at` is missing, and needed by `watermark`"
    assert misfit(b'{"at": "2026-01-01T00:00:00Z"}', needs) == "column `id` is missing, and needed by `deduplicate`"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"a;1", "2 fields, but the schema has 3 columns"),
        (b"a;x;1.5", 'column `n`: "x" is not an INT'),
        (b"a;1;high", 'column `price`: "high" is not a DOUBLE'),
        (b"\n", "the line is empty"),
        (b"a;1;2\nb;1;2", "2 lines in one record, expected one"),
        (b'"a;b";1;\n', UNKNOWN),
    ],
)
def test_what_is_wrong_with_csv(value: bytes, said: str) -> None:
    reads = source_of(Format.CSV, schema="id STRING, n INT, price DOUBLE", format_options={"Delimiter": ";"})
    assert misfit(value, reads) == said
