import pytest
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from barnabas.spark.errors import UserError
from barnabas.spark.options.source import batch_options
from barnabas.spark.source.columns import columns_of, default_schema

LEAST = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}
OPTIONS = batch_options(LEAST)


def test_the_schema_is_the_connectors() -> None:
    assert default_schema(None, include_headers=False).simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,timestampType:int>"
    )
    assert (
        default_schema(None, include_headers=True)
        .simpleString()
        .endswith(",headers:array<struct<key:string,value:binary>>>")
    )


def test_columns_are_those_asked_for_in_that_order() -> None:
    schema = default_schema(("offset", "value"), include_headers=True)
    assert schema == StructType([StructField("offset", LongType()), StructField("value", BinaryType())])
    assert columns_of(schema, batch_options(LEAST | {"columns": "offset,value"})) == ("offset", "value")
    assert columns_of(schema, OPTIONS) == ("offset", "value")


@pytest.mark.parametrize(
    ("schema", "message", "hint"),
    [
        (StructType([StructField("Value", BinaryType())]), "a column Value", "did you mean value?"),
        (StructType([StructField("price", BinaryType())]), "a column price", "timestampType"),
        (StructType([StructField("value", StringType())]), "value is binary, but the schema says string", "CAST(value"),
        (StructType([StructField("offset", StringType())]), "offset is bigint", "with CAST"),
        (StructType([StructField("value", BinaryType(), nullable=False)]), "NOT NULL", "value binary"),
        (StructType([StructField("value", BinaryType())] * 2), "twice", "once"),
        (StructType([]), "no column", "key"),
    ],
)
def test_schemas_that_records_do_not_have_are_refused(schema: StructType, message: str, hint: str) -> None:
    with pytest.raises(UserError) as refusal:
        columns_of(schema, OPTIONS)
    assert message in refusal.value.message
    assert hint in refusal.value.hint


def test_schema_and_columns_must_agree() -> None:
    with pytest.raises(UserError, match="one of the two"):
        columns_of(StructType([StructField("value", BinaryType())]), batch_options(LEAST | {"columns": "key"}))


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(UserError, match="did you mean timestamp"):
        default_schema(("timestmp",), include_headers=False)
