"""Decodes Avro values into rows with fastavro, in Spark's Python workers, a batch at a time.

The declared schema is the reader schema: its fields are the columns. The writer schema is the same, unless values carry
a schema id (`framing: confluent`) and the project names a registry: then the registry is asked, once for each id.
"""

import base64
import io
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from barnabas.model.column_types import Array, Map, Struct, Type
from barnabas.pipeline.flow.names import PARSED
from barnabas.pipeline.flow.requirements import decodable
from barnabas.pipeline.project.model import REGISTRY, Framing, Source
from barnabas.spark.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FRAME_BYTES = 5
"""A zero, and the schema's id in four bytes."""
_TIMEOUT_S = 10
_LOGICAL = frozenset(
    {"timestamp-millis", "timestamp-micros", "local-timestamp-millis", "local-timestamp-micros", "date", "decimal"}
)
"""Those with a column type of their own (`project.avro`); others are read as their underlying type."""


class Misfit(ValueError):
    """A value that does not match the schema, and why."""


def with_decoded(records: "DataFrame", source: Source) -> "DataFrame":
    """Adds PARSED, a struct with the struct `row`, which is null where the value does not match."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructField, StructType

    _check_package()
    AvroReader.of(source)  # a schema that fastavro refuses is reported here, not in a task
    row = StructType.fromDDL(decodable(source.schema.columns))
    schema = StructType([*records.schema.fields, StructField(PARSED, StructType([StructField("row", row)]))])
    arrow_schema = to_arrow_schema(schema, timezone="UTC")
    return records.mapInArrow(partial(_decode_batches, source, arrow_schema), schema)


def _decode_batches(source: Source, schema: Any, batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    reader = AvroReader.of(source)
    row_type = schema.field(PARSED).type.field("row").type
    for batch in batches:
        rows = reader.rows(batch.column(batch.schema.names.index("value")).to_pylist(), row_type)
        parsed = pa.StructArray.from_arrays([rows], fields=[pa.field("row", row_type)])
        columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=False)]
        yield pa.RecordBatch.from_arrays([*columns, parsed], schema=schema)


class AvroReader:
    """Reads values of one source."""

    def __init__(self, source: Source) -> None:
        from fastavro import parse_schema

        self._framed = source.framing is Framing.CONFLUENT
        self._registry = source.format_options.get(REGISTRY)
        self._declared = parse_schema(_known_logical_types(json.loads(source.schema.avro or "{}")))
        self._plain = _plain_of(Struct(source.schema.columns))

    @staticmethod
    def of(source: Source) -> "AvroReader":
        try:
            return _reader(
                source.name, source.schema.avro or "", source.framing, source.format_options.get(REGISTRY), source
            )
        except Exception as error:
            if type(error).__module__.partition(".")[0] != "fastavro":
                raise
            raise UserError(
                f"source `{source.name}`: the Avro schema cannot be used: {error}", "correct the schema"
            ) from None

    def rows(self, values: "list[bytes | None]", type_: Any) -> Any:
        """An Arrow array; null where a value does not match."""
        import pyarrow as pa

        found = [self._row_or_none(value) for value in values]
        try:
            return pa.array(found, type_)
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            # A value that its column cannot hold, such as a number with too many digits: find it.
            return pa.array([row if _holds(row, type_) else None for row in found], type_)

    def problem(self, value: bytes) -> str | None:
        try:
            self.row(value)
        except Misfit as error:
            return str(error)
        return None

    def row(self, value: bytes) -> dict[str, Any]:
        from fastavro import schemaless_reader

        writer, start = self._declared, 0
        if self._framed:
            writer, start = self._writer(value), _FRAME_BYTES
        stream = io.BytesIO(value)
        stream.seek(start)
        try:
            row: Any = schemaless_reader(stream, writer, self._declared)
        except (UserError, MemoryError):
            raise
        except Exception as error:  # fastavro raises many kinds: IndexError, EOFError, its own
            raise Misfit(f"not Avro of this schema: {_said(error)}") from None
        if stream.tell() != len(value):
            raise Misfit(f"not Avro of this schema: {len(value) - stream.tell()} bytes are left over")
        plain: dict[str, Any] = self._plain(row) if self._plain else row
        return plain

    def written(self, row: dict[str, Any]) -> bytes:
        """Encodes a row, for tests of pipelines."""
        from fastavro import schemaless_writer

        stream = io.BytesIO()
        schemaless_writer(stream, self._declared, row)
        return stream.getvalue()

    def _row_or_none(self, value: bytes | None) -> dict[str, Any] | None:
        try:
            return None if value is None else self.row(value)
        except Misfit:
            return None

    def _writer(self, value: bytes) -> Any:
        if len(value) < _FRAME_BYTES or value[0] != 0:
            raise Misfit("no schema id before the value: it begins with a zero byte and four bytes of id")
        if self._registry is None:
            return self._declared
        return _schema_of_id(self._registry, int.from_bytes(value[1:_FRAME_BYTES], "big"))


_readers: dict[tuple[object, ...], AvroReader] = {}


def _reader(*key: Any) -> AvroReader:
    """One for each source in a process: the source itself cannot be hashed."""
    *names, source = key
    found = _readers.get(tuple(names))
    if found is None:
        found = _readers[tuple(names)] = AvroReader(source)
    return found


_asking = threading.Lock()


def _schema_of_id(registry: str, number: int) -> Any:
    with _asking:
        return _asked(registry, number)


@lru_cache(maxsize=1000)
def _asked(registry: str, number: int) -> Any:
    from fastavro import parse_schema

    address = urlsplit(registry)
    place = address.netloc.rpartition("@")[2]
    url = urlunsplit((address.scheme, place, f"{address.path.rstrip('/')}/schemas/ids/{number}", "", ""))
    request = urllib.request.Request(url, headers={"Accept": "application/json"})
    if address.username is not None:
        secret = f"{unquote(address.username)}:{unquote(address.password or '')}"
        request.add_header("Authorization", "Basic " + base64.b64encode(secret.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            found = json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise Misfit(f"the schema registry has no schema {number}") from None
        raise _registry_fails(place, f"it answers {error.code} {error.reason}") from None
    except (OSError, ValueError) as error:
        raise _registry_fails(place, _said(error)) from None
    if found.get("schemaType", "AVRO") != "AVRO" or found.get("references"):
        raise Misfit(f"schema {number} of the registry is not Avro, or refers to others")
    return parse_schema(_known_logical_types(json.loads(found["schema"])))


def _registry_fails(place: str, what: str) -> UserError:
    return UserError(f"the schema registry {place} cannot be used: {what}", "is it running, and is the address right?")


def _known_logical_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_known_logical_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _known_logical_types(value) if name in _INNER else value for name, value in schema.items()}
    if kept.get("logicalType") not in _LOGICAL:
        kept.pop("logicalType", None)
    return kept


_INNER = ("type", "items", "values", "fields")


def _plain_of(type_: Type) -> Callable[[Any], Any] | None:
    """Converts fastavro's values to Arrow's; None where they are the same: only maps differ."""
    match type_:
        case Map(_, value):
            inner = _plain_of(value)
            return lambda found: (
                None if found is None else [(key, inner(item) if inner else item) for key, item in found.items()]
            )
        case Array(element):
            each = _plain_of(element)
            return (lambda found: None if found is None else [each(item) for item in found]) if each else None
        case Struct(fields):
            changed = {field.name: change for field in fields if (change := _plain_of(field.type))}
            if not changed:
                return None
            return lambda found: (
                None if found is None else {**found, **{name: change(found[name]) for name, change in changed.items()}}
            )
        case _:
            return None


def _holds(row: object, type_: Any) -> bool:
    import pyarrow as pa

    try:
        pa.array([row], type_)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        return False
    return True


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _check_package() -> None:
    try:
        import fastavro  # noqa: F401
    except ModuleNotFoundError:
        raise UserError("Avro needs the package fastavro", "run pip install 'barnabas[spark]'") from None
