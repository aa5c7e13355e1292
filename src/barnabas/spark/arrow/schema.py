"""The columns of the source: the names and types of Spark's Kafka connector.

Spark requires that the batches of a source have exactly its own schema: these are the types to which
`to_arrow_schema(schema, timezone="UTC")` of pyspark converts the connector's types. All columns may be null in the
schema, as the connector's are; a record without headers has null there, not an empty array.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

HEADER_TYPE: Final = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
HEADERS_TYPE: Final = pa.list_(pa.field("element", HEADER_TYPE))
TIMESTAMP_TYPE: Final = pa.timestamp("us", tz="UTC")

COLUMN_TYPES: Final[dict[str, Any]] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": TIMESTAMP_TYPE,
    "timestampType": pa.int32(),
    "headers": HEADERS_TYPE,
}
"""By column, in the connector's order; `headers` only if requested."""


@lru_cache(maxsize=64)
def _schema_of(columns: tuple[str, ...]) -> Any:
    if not columns:
        raise ValueError("no columns: an Arrow batch without any has no rows either; ask for one, such as `offset`")
    unknown = [name for name in columns if name not in COLUMN_TYPES]
    if unknown:
        raise ValueError(f"no column {', '.join(unknown)}; choose from {', '.join(COLUMN_TYPES)}")
    return pa.schema([pa.field(name, COLUMN_TYPES[name]) for name in columns])


def arrow_schema(columns: Sequence[str]) -> Any:
    """The Arrow schema of these columns, in this order."""
    return _schema_of(tuple(columns))
