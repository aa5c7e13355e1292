"""The columns of a source or a table."""

from dataclasses import dataclass

from barnabas.model.column_types import BINARY, STRING, Column, to_ddl


@dataclass(frozen=True)
class Schema:
    columns: tuple[Column, ...]
    avro: str | None = None
    """The Avro schema from which the columns came, as JSON."""

    @property
    def ddl(self) -> str:
        """In Spark's DDL, whatever spelling the project used."""
        return to_ddl(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column | None:
        """Upper and lower case are the same, as in Spark."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


TEXT = Schema((Column("value", STRING),))
BYTES = Schema((Column("value", BINARY),))
