"""The columns that Spark's connector refuses are refused with its messages."""

import pytest
from pyspark.sql.types import StructType

from barnabas.spark.errors import UserError
from barnabas.spark.sink.schema import check_schema


def schema_of(ddl: str) -> StructType:
    """Without a Spark to parse it."""
    from pyspark.sql.types import (
        ArrayType,
        BinaryType,
        DoubleType,
        IntegerType,
        LongType,
        MapType,
        StringType,
        StructField,
        TimestampNTZType,
        TimestampType,
    )

    pair = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
    kinds = {
        "string": StringType(),
        "binary": BinaryType(),
        "int": IntegerType(),
        "bigint": LongType(),
        "double": DoubleType(),
        "timestamp": TimestampType(),
        "timestamp_ntz": TimestampNTZType(),
        "map": MapType(StringType(), StringType()),
        "headers": ArrayType(pair),
        "renamed": ArrayType(StructType([StructField("k", StringType()), StructField("value", BinaryType())])),
        "texts": ArrayType(StructType([StructField("key", StringType()), StructField("value", StringType())])),
    }
    return StructType([StructField(name, kinds[kind]) for name, kind in (one.split() for one in ddl.split(", "))])


@pytest.mark.parametrize(
    "ddl",
    [
        "value string",
        "value binary, key string",
        "value binary, key binary, partition int, headers headers, timestamp timestamp",
        "value string, timestamp bigint",
        "value string, timestamp timestamp_ntz",
        "value string, topic double",  # the option takes precedence, so the column is not checked
        "value string, offset bigint, anything map",
    ],
)
def test_what_is_taken(ddl: str) -> None:
    check_schema(schema_of(ddl), topic="t")


@pytest.mark.parametrize(
    ("ddl", "topic", "said"),
    [
        ("key string", "t", "Required attribute 'value' not found"),
        ("value string", None, "topic option required when no 'topic' attribute is present"),
        ("value string, topic binary", None, "topic attribute unsupported type binary. topic must be a(n) string"),
        ("value double", "t", "value attribute unsupported type double. value must be a(n) string or binary"),
        ("value string, key bigint", "t", "key attribute unsupported type bigint. key must be a(n) string or binary"),
        (
            "value string, partition bigint",
            "t",
            "partition attribute unsupported type bigint. partition must be a(n) int",
        ),
        ("value string, headers map", "t", "headers attribute unsupported type map<string,string>"),
        ("value string, headers renamed", "t", "headers must be a(n) array<struct<key:string,value:binary>>"),
        (
            "value string, headers texts",
            "t",
            "headers attribute unsupported type array<struct<key:string,value:string>>",
        ),
        ("value string, timestamp string", "t", "timestamp must be a(n) timestamp or bigint (milliseconds)"),
    ],
)
def test_what_is_refused(ddl: str, topic: str | None, said: str) -> None:
    with pytest.raises(UserError) as refused:
        check_schema(schema_of(ddl), topic=topic)
    assert said in refused.value.message
    assert refused.value.hint


def test_the_name_that_was_meant_is_among_those_that_are_shown() -> None:
    with pytest.raises(UserError, match="the columns are: valeu, key") as refused:
        check_schema(schema_of("valeu string, key string"), topic="t")
    assert "to_json" in refused.value.hint
