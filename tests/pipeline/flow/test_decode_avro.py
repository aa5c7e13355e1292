"""Avro values: with and without a schema id prefix, decoded with the writer's schema. Needs no Spark."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from flow_world import source_of

from barnabas.pipeline.flow.decode_avro import AvroReader
from barnabas.pipeline.flow.misfits import misfit
from barnabas.pipeline.project import avro
from barnabas.pipeline.project.model import Format, Framing, Source
from barnabas.spark.errors import UserError

DECLARED: dict[str, Any] = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "inner", "type": {"type": "array", "items": {"type": "map", "values": "string"}}},
        {"name": "token", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "unit", "type": "string", "default": "C"},
    ],
}
ARROW = pa.struct(
    [
        ("id", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("price", pa.decimal128(6, 2)),
        ("counts", pa.map_(pa.string(), pa.int64())),
        ("inner", pa.list_(pa.map_(pa.string(), pa.string()))),
        ("token", pa.string()),
        ("unit", pa.string()),
    ]
)
ROW: dict[str, Any] = {
    "id": "a",
    "at": datetime(2026, 1, 1, 12, tzinfo=UTC),
    "day": date(2026, 1, 1),
    "price": Decimal("12.30"),
    "counts": {"x": 1},
    "inner": [{"k": "v"}],
    "token": "2f1e6a3c-0d6e-4c57-9d5d-3f0a5b8c7d21",
    "unit": "K",
}
SEEN = {**ROW, "counts": [("x", 1)], "inner": [[("k", "v")]]}


def reads(**more: Any) -> Source:
    return source_of(Format.AVRO, schema=avro.schema_of(json.dumps(DECLARED)), **more)


def bytes_of(row: dict[str, Any], schema: dict[str, Any] = DECLARED) -> bytes:
    import io

    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(json.loads(json.dumps(schema))), row)
    return stream.getvalue()


def test_values_become_rows_and_what_does_not_fit_becomes_null() -> None:
    good = bytes_of(ROW)
    huge = {**ROW, "at": datetime(2026, 1, 1, tzinfo=UTC)}
    values = [good, None, b"", good[:-1], good + b"!", bytes_of(huge)]
    rows = AvroReader.of(reads()).rows(values, ARROW).to_pylist()
    assert rows[0] == SEEN
    assert rows[1:5] == [None] * 4
    assert rows[5]["at"] == huge["at"]
    assert misfit(good + b"!", reads()) == "not Avro of this schema: 1 bytes are left over"
    assert misfit(b"", reads()).startswith("not Avro of this schema: ")


def test_a_row_that_no_column_holds_does_not_take_its_neighbours_with_it() -> None:
    small = pa.field("counts", pa.map_(pa.string(), pa.int8()))
    narrow = pa.struct([small if field.name == "counts" else field for field in ARROW])
    values = [bytes_of(ROW), bytes_of({**ROW, "counts": {"x": 1000}})]
    assert AvroReader.of(reads()).rows(values, narrow).to_pylist() == [SEEN, None]


def test_a_frame_is_wanted_where_it_is_declared() -> None:
    framed = reads(framing=Framing.CONFLUENT)
    good = b"\0\0\0\0\7" + bytes_of(ROW)
    assert AvroReader.of(framed).rows([good, bytes_of(ROW)], ARROW).to_pylist() == [SEEN, None]
    assert misfit(b"\1\2", framed).startswith("no schema id before the value")


OLDER = {**DECLARED, "fields": DECLARED["fields"][:-1]}
"""Without `unit`."""


class Registry(BaseHTTPRequestHandler):
    asked: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Authorization")))
        answers = {"/schemas/ids/7": {"schema": json.dumps(OLDER)}, "/schemas/ids/8": {"schemaType": "PROTOBUF"}}
        answer = answers.get(self.path)
        self.send_response(200 if answer else 500 if self.path.endswith("/500") else 404)
        self.end_headers()
        self.wfile.write(json.dumps(answer or {}).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Not to the terminal."""


@pytest.fixture
def registry() -> Iterator[HTTPServer]:
    Registry.asked = []
    server = HTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_registry_is_asked_for_the_schema_that_wrote_a_value_once(registry: HTTPServer) -> None:
    address = f"http://me:p%40ss@127.0.0.1:{registry.server_port}"
    framed = reads(framing=Framing.CONFLUENT, format_options={"registry": address})
    old = {name: value for name, value in ROW.items() if name != "unit"}
    value = b"\0\0\0\0\7" + bytes_of(old, OLDER)
    assert AvroReader.of(framed).rows([value, value], ARROW).to_pylist() == [{**SEEN, "unit": "C"}] * 2
    assert Registry.asked == [("/schemas/ids/7", "Basic bWU6cEBzcw==")]
    assert misfit(b"\0\0\0\0\x09...", framed) == "the schema registry has no schema 9"
    assert misfit(b"\0\0\0\0\x08...", framed) == "schema 8 of the registry is not Avro, or refers to others"
    # A failing registry is not the record's fault: the query stops, and nothing is lost.
    with pytest.raises(UserError, match=r"127\.0\.0\.1:\d+ cannot be used: it answers 500"):
        AvroReader.of(framed).rows([b"\0\0\0\1\xf4..."], ARROW)
