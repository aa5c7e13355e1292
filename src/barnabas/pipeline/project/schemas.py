"""The columns of a source or a table."""

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.pipeline.project.types import BINARY, STRING, Column


@dataclass(frozen=True)
class Schema:
    columns: tuple[Column, ...]
    avro: str | None = None
    """The Avro schema from which the columns came, as JSON."""

    @property
    def ddl(self) -> str:
        """In Spark's DDL, whatever spelling the project used."""
        return ", ".join(column.text() for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column | None:
        """Upper and lower case are the same, as in Spark."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


TEXT = Schema((Column("value", STRING),))
BYTES = Schema((Column("value", BINARY),))


def first_duplicate(names: Iterable[str]) -> str | None:
    """The first name that occurs a second time, ignoring case."""
    seen = set[str]()
    for name in names:
        if name.lower() in seen:
            return name
        seen.add(name.lower())
    return None
