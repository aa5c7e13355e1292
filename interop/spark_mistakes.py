"""The table of mistakes that Spark's Kafka connector refuses, and the words that our error must contain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from spark_cases import EARLIEST, PLAIN, at, places

NOBODY: Final = "127.0.0.1:1"


@dataclass(frozen=True)
class Mistake:
    name: str
    options: Mapping[str, str]
    named: tuple[str, ...]
    """Words that must be in the error message."""


_ALL_AT_3: Final = {0: 3, 1: 3, 2: 3}

SUBSCRIPTIONS: Final = (
    Mistake("no topic", {}, ("subscribe", "subscribePattern", "assign")),
    Mistake("two ways to say it", {**PLAIN, "subscribePattern": "p.*"}, ("subscribe", "subscribePattern")),
    Mistake("empty list", {"subscribe": " , "}, ("subscribe",)),
    Mistake("empty pattern", {"subscribePattern": " "}, ("subscribePattern",)),
    Mistake("not a pattern", {"subscribePattern": "plain("}, ("subscribePattern", "plain(")),
    Mistake("assigned by name", {"assign": "plain"}, ("assign", "plain")),
    Mistake("assigned without a list", {"assign": '{"plain":0}'}, ("assign", '{"plain":0}')),
    Mistake("no such topic", {"subscribe": "plain,plaint"}, ("plaint",)),
    Mistake("no servers", {**PLAIN, "kafka.bootstrap.servers": ""}, ("kafka.bootstrap.servers",)),
    Mistake(
        "nobody there",
        {
            **PLAIN,
            "kafka.bootstrap.servers": NOBODY,
            "kafka.request.timeout.ms": "500",
            "kafka.default.api.timeout.ms": "1000",
            "fetchOffset.numRetries": "1",
        },
        (NOBODY,),
    ),
)

VALUES: Final = (
    Mistake("no tasks", {**PLAIN, "minPartitions": "0"}, ("minPartitions", "0")),
    Mistake("tasks in words", {**PLAIN, "minPartitions": "seven"}, ("minPartitions", "seven")),
    Mistake("empty tasks", {**PLAIN, "maxRecordsPerPartition": "-1"}, ("maxRecordsPerPartition", "-1")),
    Mistake("neither true nor false", {**PLAIN, "failOnDataLoss": "perhaps"}, ("failOnDataLoss", "perhaps")),
    Mistake("headers, neither true nor false", {**PLAIN, "includeHeaders": "some"}, ("includeHeaders", "some")),
    Mistake(
        "at least more than at most",
        {**PLAIN, "minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"},
        ("minOffsetsPerTrigger", "9", "maxOffsetsPerTrigger", "8"),
    ),
    Mistake("unknown isolation", {**PLAIN, "kafka.isolation.level": "maybe"}, ("isolation.level", "maybe")),
    *(
        Mistake(f"kafka.{name}", {**PLAIN, f"kafka.{name}": "x"}, (name,))
        for name in (
            "auto.offset.reset",
            "key.deserializer",
            "value.deserializer",
            "enable.auto.commit",
            "interceptor.classes",
        )
    ),
)

POSITIONS: Final = (
    Mistake("a batch from the end", {**PLAIN, "startingOffsets": "latest"}, ("startingOffsets", "latest")),
    Mistake(
        "a partition from its end",
        {**PLAIN, "startingOffsets": places("plain", {0: 0, 1: -1, 2: 0})},
        ("startingOffsets", "-1"),
    ),
    Mistake("a batch to the beginning", {**PLAIN, "endingOffsets": "earliest"}, ("endingOffsets", "earliest")),
    Mistake(
        "a partition to its beginning",
        {**PLAIN, "endingOffsets": places("plain", {0: 5, 1: 5, 2: -2})},
        ("endingOffsets", "-2"),
    ),
    Mistake("an unknown word", {**PLAIN, "startingOffsets": "newest"}, ("startingOffsets", "newest")),
    Mistake("offsets in a list", {**PLAIN, "startingOffsets": '{"plain":[1,2,3]}'}, ("startingOffsets",)),
    Mistake(
        "a partition left out", {**PLAIN, "startingOffsets": places("plain", {0: 1, 1: 1})}, ("startingOffsets", "2")
    ),
    Mistake(
        "a partition too many",
        {**PLAIN, "endingOffsets": places("plain", {**_ALL_AT_3, 7: 3})},
        ("endingOffsets", "7"),
    ),
    Mistake(
        "ends of other partitions than starts",
        {
            **PLAIN,
            "startingOffsets": places("plain", _ALL_AT_3),
            "endingOffsets": places("plain", {0: 4, 1: 4}),
        },
        ("startingOffsets", "endingOffsets"),
    ),
    Mistake(
        "start after end",
        {
            **PLAIN,
            "startingOffsets": places("plain", _ALL_AT_3),
            "endingOffsets": places("plain", {**_ALL_AT_3, 1: 2}),
        },
        ("3", "2"),
    ),
    Mistake("a time in words", {**PLAIN, "startingTimestamp": "today"}, ("startingTimestamp", "today")),
    Mistake("times in a list", {**PLAIN, "startingOffsetsByTimestamp": "[1]"}, ("startingOffsetsByTimestamp",)),
    Mistake(
        "a partition without a time",
        {**PLAIN, "startingOffsetsByTimestamp": places("plain", {0: 1, 1: 1})},
        ("startingOffsetsByTimestamp", "2"),
    ),
    Mistake("no record is so young", {**PLAIN, "startingTimestamp": at(999)}, ("startingTimestamp", at(999))),
    Mistake(
        "an unknown strategy",
        {**PLAIN, "startingTimestamp": at(1), "startingOffsetsByTimestampStrategy": "guess"},
        ("startingOffsetsByTimestampStrategy", "guess"),
    ),
    Mistake(
        "end before start",
        {**PLAIN, "startingTimestamp": at(50), "endingTimestamp": at(20)},
        ("plain",),
    ),
    Mistake(
        "records that are gone",
        {"subscribe": "trimmed", "startingOffsets": places("trimmed", {0: 3, 1: 3})},
        ("trimmed", "3", "37"),
    ),
)

IN_BATCHES: Final = (*SUBSCRIPTIONS, *VALUES, *POSITIONS)

_START: Final = {**PLAIN, **EARLIEST}
IN_STREAMS: Final = (
    Mistake("ending offsets", {**_START, "endingOffsets": "latest"}, ("endingOffsets",)),
    Mistake(
        "ending timestamps",
        {**_START, "endingOffsetsByTimestamp": places("plain", _ALL_AT_3)},
        ("endingOffsetsByTimestamp",),
    ),
    Mistake("so many, in words", {**_START, "maxOffsetsPerTrigger": "some"}, ("maxOffsetsPerTrigger", "some")),
    Mistake("a delay without a unit of time", {**_START, "maxTriggerDelay": "5 moons"}, ("maxTriggerDelay", "5 moons")),
    Mistake("no such topic", {**EARLIEST, "subscribe": "plaint"}, ("plaint",)),
    Mistake(
        "a partition left out", {**PLAIN, "startingOffsets": places("plain", {0: 1, 1: 1})}, ("startingOffsets", "2")
    ),
    Mistake(
        "start behind the end",
        {**PLAIN, "startingOffsets": places("plain", {**_ALL_AT_3, 1: 5000})},
        ("plain", "5000"),
    ),
    Mistake(
        "records that are gone",
        {"subscribe": "trimmed", "startingOffsets": places("trimmed", {0: 3, 1: 3})},
        ("trimmed", "3", "37"),
    ),
)
