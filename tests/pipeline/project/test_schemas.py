"""The columns of a source or a table."""

from barnabas.model.column_types import STRING, TIMESTAMP, Column
from barnabas.pipeline.project.schemas import Schema


def test_columns_are_found_whatever_their_case() -> None:
    schema = Schema((Column("Device", STRING), Column("at", TIMESTAMP)))
    assert schema.column("device") == Column("Device", STRING)
    assert schema.column("other") is None
